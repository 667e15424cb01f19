# SPDX-License-Identifier: Apache-2.0
# bash completion for noisectl.
_noisectl() {
  local word=${COMP_WORDS[COMP_CWORD]} command='' each
  [[ " --socket --replay --output -o --compare " == *" ${COMP_WORDS[COMP_CWORD - 1]} "* ]] && { mapfile -t COMPREPLY < <(compgen -f -- "$word"); return; }
  [[ "${COMP_WORDS[COMP_CWORD - 1]}" == --cgroup ]] && { mapfile -t COMPREPLY < <(cd /sys/fs/cgroup && compgen -d -S / -- "${word#/}" | sed 's,^,/,'); return; }
  [[ "${COMP_WORDS[COMP_CWORD - 1]}" == --marks ]] && { mapfile -t COMPREPLY < <(compgen -d -- "$word"); return; }
  [[ "${COMP_WORDS[COMP_CWORD - 1]}" == --pid ]] && { mapfile -t COMPREPLY < <(cd /proc && compgen -G "$word*" | grep -x '[0-9]*'); return; }
  local commands
  commands=$(noisectl --words 2>/dev/null | grep -v '^-')
  for each in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ "$command" == watch && "$each" == -- ]] && { mapfile -t COMPREPLY < <(compgen -c -f -- "$word"); return; }
    [[ "$command" == baseline && ( "$each" == save || "$each" == diff ) ]] && command="baseline $each"
    [[ " ${commands//$'\n'/ } " == *" $each "* ]] && command=$each
  done
  if [[ "$word" == -* ]]; then
    # shellcheck disable=SC2086
    mapfile -t COMPREPLY < <(compgen -W "$(noisectl --words $command 2>/dev/null)" -- "$word")
  elif [[ -z "$command" ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word")
  elif [[ "$command" == baseline ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(noisectl --words baseline 2>/dev/null | grep -v '^-')" -- "$word")
  else
    [[ "$command" == baseline* ]] && mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -F _noisectl noisectl
