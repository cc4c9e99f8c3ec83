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
for group in $groups; do
    kill -s KILL -- "-$group" 2>/dev/null
done
IFS=$line
for folder in $folders; do
    command -p rm -rf -- "$folder" 2>/dev/null
done
exit 0
