#compdef twicetold
# twicetold.zsh -- completion for zsh, installed as _twicetold: the program prints the candidates; if there are none,
# complete files

local -a candidates
candidates=(${(f)"$($words[1] complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
[[ $PREFIX == --*=* ]] && compset -P '*='
if (( $#candidates )); then
    compadd -S '' -- ${(M)candidates:#*=}
    compadd -- ${candidates:#*=}
else
    _files
fi
