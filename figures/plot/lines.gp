# lines.gp -- panels of lines
load settings
load here."/style.gp"
eval sheet
plot @strokes, @texts
