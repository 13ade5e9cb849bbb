import { type Place, type Program, placesOf } from './declare.ts';
import { briefly, kindOf, valueCases } from './shell-tables.ts';

/** A script for a folder of `fpath`, or for `source <(PROGRAM completion zsh)` after compinit. It runs no program. */
export function zshCompletion(program: Program): string {
  const name = `_${program.name.replaceAll('-', '_')}`;
  const places = placesOf(program);
  return `#compdef ${program.name}
# zsh completion for ${program.name}
${name}_at() {
  nextwords=() nextoptions=() nextoperands=()
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
    @file) _files ;;
    @folder) _files -/ ;;
    @none) _message 'a value' ;;
    *) compadd -- \${=1} ;;
  esac
}

${name}() {
  local place='' word option='' value i count=0
  local -a nextwords nextoptions nextoperands
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}
    if [[ -n $option ]]; then option=''; continue; fi
    if [[ $word == -* ]]; then
      ${name}_value "$place" "$word" && option=$word
      continue
    fi
    ${name}_at "$place"
    if (( count == 0 )) && [[ -n \${(M)nextwords:#$word(|:*)} ]]; then
      place="\${place:+$place }$word"
    else
      count=$((count + 1))
    fi
  done
  if [[ -n $option ]]; then
    ${name}_value "$place" "$option"
    ${name}_offer "$value"
    return
  fi
  if [[ $PREFIX == --*=* ]] && ${name}_value "$place" "\${PREFIX%%=*}"; then
    compset -P '*='
    ${name}_offer "$value"
    return
  fi
  ${name}_at "$place"
  if [[ $PREFIX == -* ]]; then _describe option nextoptions; return; fi
  if (( count == 0 && \${#nextwords} > 0 )); then _describe command nextwords; return; fi
  local last=\${#nextoperands}
  (( last == 0 )) && return
  if (( count < last )); then ${name}_offer "\${nextoperands[count + 1]% ...}"
  elif [[ \${nextoperands[last]} == *' ...' ]]; then ${name}_offer "\${nextoperands[last]% ...}"
  fi
}

if [[ \${funcstack[1]} == ${name} ]]; then ${name} "$@"; else compdef ${name} ${program.name}; fi
`;
}

function placeCase({ path, words, options, operands }: Place): string {
  const next = words.map(({ word, about }) => described(word, about));
  const known = options.map(([option, { about }]) => described(`--${option}`, about));
  const offered = operands.map(({ completes, repeats }) => `'${kindOf(completes)}${repeats ? ' ...' : ''}'`);
  return `    '${path}') nextwords=(${next.join(' ')}) nextoptions=(${known.join(' ')}) nextoperands=(${offered.join(' ')}) ;;`;
}

/** `word:description`, as _describe takes it. */
function described(word: string, about: string): string {
  const full = about === '' ? word : `${word}:${briefly(about)}`;
  return `'${full.replaceAll("'", `'\\''`)}'`;
}
