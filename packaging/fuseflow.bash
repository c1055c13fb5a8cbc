# Completion for bash: tools, options and values are read from the tools' own --help, so they are never out of date.

_fuseflow_tools() {
  { compgen -c fuseflow- | sed 's/^fuseflow-//'; echo help; } | sort -u
}

# Offers those of the lines of standard input that begin with $1. Not with `compgen -W`, which expands each of them: a
# machine's file may be called `$(..).toml`. What is offered is quoted, since the shell reads it as it stands.
_fuseflow_offer() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    [[ -n $line && $line == "$1"* ]] && COMPREPLY+=("$(printf %q "$line")")
  done
  ((${#COMPREPLY[@]} > 0))
}

_fuseflow_options() {
  "$1" --help 2>/dev/null | grep -oE -- '^ +(-[A-Za-z],)?--?[A-Za-z][A-Za-z-]*' | tr ', ' '\n\n' | grep . | sort -u
}

# How the help calls the value of option $2 of tool $1: behind one blank, where flags have several.
_fuseflow_value() {
  "$1" --help 2>/dev/null | sed -nE "s/^ +(-[A-Za-z],)?(-[A-Za-z],)?$2 ([^ ]+).*/\3/p; s/^ +$2,--[a-z-]+ ([^ ]+).*/\1/p" | head -n 1
}

# The words that may stand there; nothing where it is a file or a name.
_fuseflow_values() {
  local value word
  [[ $2 =~ ^-[A-Za-z-]+$ ]] || return 0
  value=$(_fuseflow_value "$1" "$2")
  [[ $2 == --machine || $2 == --print-machine ]] && fuseflow-sim --list-machines 2>/dev/null | cut -d' ' -f1
  [[ $value == *'|'* ]] || return 0
  for word in $(tr '|[]' '   ' <<<"$value"); do
    [[ $word =~ ^[a-z0-9_]+$ ]] && echo "$word"
  done
  return 0
}

# The commands of a tool that has some: lines of one word in its help.
_fuseflow_commands() {
  "$1" --help 2>/dev/null | grep -xE '[a-z]+'
}

_fuseflow() {
  local tool=$1 word=$2 option=$3
  COMPREPLY=()
  if [[ ${tool##*/} == fuseflow ]]; then
    if ((COMP_CWORD == 1)) || [[ ${COMP_WORDS[1]} == help ]]; then
      _fuseflow_offer "$word" < <(_fuseflow_tools)
      return
    fi
    [[ ${COMP_WORDS[1]} =~ ^[a-z]+$ ]] || return
    tool=${tool}-${COMP_WORDS[1]}
  fi
  # --option=value comes as three words.
  [[ $word == = ]] && word=
  [[ $option == = ]] && option=${COMP_WORDS[COMP_CWORD - 2]}
  if [[ $option == -* ]]; then
    _fuseflow_offer "$word" < <(_fuseflow_values "$tool" "$option") && return
  fi
  if [[ $word == -* ]]; then
    _fuseflow_offer "$word" < <(_fuseflow_options "$tool")
  else
    _fuseflow_offer "$word" < <(_fuseflow_commands "$tool")
  fi
}

_fuseflow_register() {
  local tool
  while IFS= read -r tool; do
    complete -o default -o bashdefault -F _fuseflow "$tool"
  done < <(echo fuseflow; compgen -c fuseflow-)
}
_fuseflow_register
unset -f _fuseflow_register
