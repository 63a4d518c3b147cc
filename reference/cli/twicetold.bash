# twicetold.bash -- completion for bash: the program prints the candidates; if there are none, complete files

_twicetold() {
    local last=${COMP_WORDS[COMP_CWORD]} each
    [ "$last" = = ] && last=
    COMPREPLY=()
    while read -r each; do
        case $each in "$last"*) COMPREPLY+=("$each") ;; esac
    done < <("$1" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    case ${COMPREPLY[0]} in *=) compopt -o nospace ;; esac
}
complete -o bashdefault -o default -F _twicetold twicetold
