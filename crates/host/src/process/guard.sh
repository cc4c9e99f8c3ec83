# Kills every process group that its host still had when it went away. See guard.rs.
trap '' HUP INT QUIT TERM
groups=' '
while read -r what group; do
    case $group in
    '' | 0* | 1 | *[!0-9]*) continue ;;
    esac
    case $what in
    +) groups="$groups$group " ;;
    -)
        case $groups in
        *" $group "*) groups="${groups%%" $group "*} ${groups#*" $group "}" ;;
        esac
        ;;
    esac
done
for group in $groups; do
    kill -s KILL -- "-$group" 2>/dev/null
done
exit 0
