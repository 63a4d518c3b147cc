# goals.awk -- the goals against PyTorch, a column for each machine
#
#     awk -f goals.awk FOLDER_OF/versus-goals.tsv FOLDER_OF/versus-goals-zen4.tsv ...
#
# A cell is how many times as fast as PyTorch's best way ours is, and after "of" how many times
# as fast anything could be by the floor; bold where that meets the goal.  A column is called
# by the processor and its vectors.

BEGIN { FS = OFS = "\t" }

FNR == 1 { machines++ }

/^# machine: / { machine = name[machines] = substr($0, 12); sub(/,.*, /, ", ", name[machines]) }
/^# measured: / { day = substr($0, 13, 10) }
/^# PyTorch [0-9]/ {
    peer = substr($0, 3); sub(/[+;].*/, "", peer)
    all = all (all ? "; " : "") machine " (" day ", " peer ")"
}
/^#what/ { sub(/^#/, ""); for (f = 1; f <= NF; f++) at[$f] = f; next }
/^#/ { next }
{
    key = $(at["what"]) OFS $(at["threads"]) OFS $(at["goal"])
    if (!(key in seen)) { seen[key] = 1; row[++rows] = key }
    cell = $(at["ratio"]) " of " $(at["most"])
    told[key, machines] = $(at["verdict"]) == "met" ? "**" cell "**" : cell
}

END {
    print "# machine: " all
    printf "#what\tthreads\tgoal"
    for (m = 1; m <= machines; m++) printf "\t%s", name[m]
    print ""
    for (r = 1; r <= rows; r++) {
        printf "%s", row[r]
        for (m = 1; m <= machines; m++) printf "\t%s", (row[r], m) in told ? told[row[r], m] : "—"
        print ""
    }
}
