# Runs the commands of a tutorial.
# shellcheck shell=bash

# Runs the commands in the `console` blocks of a page, and compares their output with the page: assert_page PAGE
# Creates a file from each `yaml` block that begins with a file name. With RECORD=1, updates the page instead.
assert_page() {
  local line block='' indent file
  while IFS= read -r line; do
    if [[ $block != console ]] || [[ $line == *'```' ]]; then printf '%s\n' "$line"; fi
    case $block:${line#"${line%%[! ]*}"} in
    :'```'console | :'```'yaml) block=${line##*'`'} indent=${line%%'`'*} file= ;;
    *:'```') block= ;;
    yaml:'# '*.yaml) file=${line##* } && : >"$file" ;;
    yaml:*) [ -z "$file" ] || printf '%s\n' "${line#"$indent"}" >>"$file" ;;
    console:'$ '*)
      printf '%s\n' "$line"
      (eval "${line#*\$ }" 2>&1 </dev/null || true) | sed -E "s/^/$indent/; s/ *$//; s/(Digest: sha256:)[0-9a-f]+/\1.../"
      # The API server starts to call a new webhook after a short delay.
      if [[ $line == *PolicyActive* ]]; then sleep 2; fi
      ;;
    esac
  done <"$1" >page
  grep --quiet '^ *\$ ' page || { echo "no command in $1" && return 1; }
  if [[ ${RECORD:-} ]]; then cp page "$1"; else diff <(strip_times "$1") <(strip_times page); fi
}
# Removes ages, dates and the random parts of names: strip_times FILE
strip_times() { sed -E 's/ +[0-9]+(s|m|m[0-9]+s)$//; s/^( *LAST DEPLOYED:) .*/\1/; s/sample-[a-z0-9]{5}/sample/g; s/ +/ /g' "$1"; }
