import { type Place, type Program, placesOf } from './declare.ts';
import { kindOf, valueCases } from './shell-tables.ts';

/** A script for `source <(PROGRAM completion bash)`, for bash 4 or newer. It runs no program. */
export function bashCompletion(program: Program): string {
  const name = `_${program.name.replaceAll('-', '_')}`;
  const places = placesOf(program);
  return `# bash completion for ${program.name}
${name}_at() {
  words='' options='' operands=()
  case "$1" in
${places.map(placeCase).join('\n')}
  esac
}

${name}_value() {
  value=''
  case "$1 $2" in
${valueCases(places).join('\n')}
    *) return 1 ;;
  esac
}

${name}_offer() {
  case "$1" in
    @file) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
    @folder) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
    @none) ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur") ;;
  esac
}

${name}() {
  local cur=\${COMP_WORDS[COMP_CWORD]} path='' word option='' joined='' value words options i count=0
  local -a operands
  COMPREPLY=()
  [[ $cur == '=' ]] && cur=''
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    # readline splits at "=" and ":".
    [[ $word == '=' ]] && continue
    if [[ $word == ':' ]]; then joined=1; continue; fi
    if [[ -n $joined ]]; then joined=''; continue; fi
    if [[ -n $option ]]; then option=''; continue; fi
    if [[ $word == -* ]]; then
      ${name}_value "$path" "$word" && option=$word
      continue
    fi
    ${name}_at "$path"
    if [[ $count == 0 && " $words " == *" $word "* ]]; then path=\${path:+$path }$word; else count=$((count + 1)); fi
  done
  if [[ -n $option ]]; then
    ${name}_value "$path" "$option"
    ${name}_offer "$value"
    return
  fi
  ${name}_at "$path"
  if [[ $cur == -* ]]; then ${name}_offer "$options"; return; fi
  if [[ $count == 0 && -n $words ]]; then ${name}_offer "$words"; return; fi
  local last=$((\${#operands[@]} - 1))
  ((last < 0)) && return
  if ((count <= last)); then ${name}_offer "\${operands[count]% ...}"
  elif [[ \${operands[last]} == *' ...' ]]; then ${name}_offer "\${operands[last]% ...}"
  fi
}

complete -F ${name} ${program.name}
`;
}

function placeCase({ path, words, options, operands }: Place): string {
  const offered = operands.map(({ completes, repeats }) => `'${kindOf(completes)}${repeats ? ' ...' : ''}'`);
  const names = options.flatMap(([option, { short }]) => [`--${option}`, ...(short ? [`-${short}`] : [])]);
  const [all, known] = [words.map(({ word }) => word).join(' '), names.join(' ')];
  return `    '${path}') words='${all}' options='${known}' operands=(${offered.join(' ')}) ;;`;
}
