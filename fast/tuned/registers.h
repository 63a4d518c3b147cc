/* registers.h -- number of vector registers of the processor */

#pragma once

#ifndef LANE_REGISTERS          /* `make wide` sets it to 32 */
#if defined __AVX512F__ || defined __aarch64__
#define LANE_REGISTERS 32
#else
#define LANE_REGISTERS 16
#endif
#endif
