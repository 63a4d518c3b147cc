"""draw.py -- measures on this machine and draws the figures"""
from sheet import render
