# Kills every process group that its host still had when it went away, and removes the host's temporary
# folders. See guard.rs.
trap '' HUP INT QUIT TERM
set -f
line='
'
groups=' '
folders=$line
while read -r what name; do
    case $what in
    f)
        case $name in
        /*/duologue-*) folders="$folders$name$line" ;;
        esac
        continue
        ;;
    d)
        case $folders in
        *"$line$name$line"*)
            folders="${folders%%"$line$name$line"*}$line${folders#*"$line$name$line"}"
            ;;
        esac
        continue
        ;;
    esac
    case $name in
    '' | 0* | 1 | *[!0-9]*) continue ;;
    esac
    case $what in
    +) groups="$groups$name " ;;
    -)
        case $groups in
        *" $name "*) groups="${groups%%" $name "*} ${groups#*" $name "}" ;;
        esac
        ;;
    esac
done
# Stopped, so that they start nothing more.
for group in $groups; do
    kill -s STOP -- "-$group" 2>/dev/null
done
# Linux lists all processes: descendants that have left their group end too.
tree=$groups
grown=$groups
set +f
while [ "$grown" != ' ' ] && [ -r /proc/self/stat ]; do
    grown=' '
    for file in /proc/[0-9]*/stat; do
        pid=${file#/proc/}
        pid=${pid%/stat}
        case $tree in
        *" $pid "*) continue ;;
        esac
        { IFS= read -r stat <"$file"; } 2>/dev/null || continue
        # The name, in parentheses, may contain anything. Then: the state, the parent, the group.
        case $stat in
        *') '[A-Za-z]' '[0-9]*) ;;
        *) continue ;;
        esac
        # shellcheck disable=SC2086
        set -- ${stat##*') '}
        case "$tree|$groups" in
        *" $2 "*"|"* | *"|"*" $3 "*) tree="$tree$pid " grown="$grown$pid " ;;
        esac
    done
done
set -f
for group in $groups; do
    kill -s KILL -- "-$group" 2>/dev/null
done
for pid in $tree; do
    kill -s KILL "$pid" 2>/dev/null
done
IFS=$line
for folder in $folders; do
    command -p rm -rf -- "$folder" 2>/dev/null
done
exit 0
