# Completion for bash: options are read from each tool's own --help, so they are never out of date.
_fuseflow_options() {
  "$1" --help 2>/dev/null | grep -oE -- '(^|[ ,])--?[A-Za-z][A-Za-z-]*' | tr -d ' ,' | sort -u
}

_fuseflow_tools() {
  compgen -c fuseflow- | sed 's/^fuseflow-//' | sort -u
}

_fuseflow() {
  local tool=$1 word=$2
  COMPREPLY=()
  if [[ ${tool##*/} == fuseflow ]]; then
    if ((COMP_CWORD == 1)); then
      mapfile -t COMPREPLY < <(compgen -W "$(_fuseflow_tools)" -- "$word")
      return
    fi
    tool=fuseflow-${COMP_WORDS[1]}
  fi
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_fuseflow_options "$tool")" -- "$word")
  fi
}

_fuseflow_register() {
  local tool
  for tool in fuseflow $(compgen -c fuseflow-); do
    complete -o default -o bashdefault -F _fuseflow "$tool"
  done
}
_fuseflow_register
unset -f _fuseflow_register
