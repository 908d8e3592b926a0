# Runs the commands of a tutorial.
# shellcheck shell=bash

# Runs the commands in the `console` blocks of a page, and compares their output with the page's. A `yaml` block that begins with a file name is that file.
# With RECORD=1, the page gets the output instead: assert_page PAGE
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
      (eval "${line#*\$ }" 2>&1 </dev/null || true) | sed "s/^/$indent/; s/ *$//"
      # The API server needs a moment to read a new webhook.
      if [[ $line == *PolicyActive* ]]; then sleep 2; fi
      ;;
    esac
  done <"$1" >page
  if [[ ${RECORD:-} ]]; then cp page "$1"; else diff <(strip_times "$1") <(strip_times page); fi
}
# Removes ages, dates, digests and the random part of names.
strip_times() { sed -E 's/ +[0-9]+(s|m|m[0-9]+s)$//; s/^( *(LAST DEPLOYED|Digest):) .*/\1/; s/sample-[a-z0-9]{5}/sample/g; s/ +/ /g' "$1"; }
