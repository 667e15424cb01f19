# SPDX-License-Identifier: Apache-2.0
# bash completion for noised.
_noised() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  case "$before" in
    --config | --socket | --btf | --record | --replay) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    --cpus) mapfile -t COMPREPLY < <(compgen -W "isolated nohz_full all" -- "$word"); return ;;
    --mode) mapfile -t COMPREPLY < <(compgen -W "probe watch auto" -- "$word"); return ;;
    --policy) mapfile -t COMPREPLY < <(compgen -W "other fifo" -- "$word"); return ;;
    --footprint) mapfile -t COMPREPLY < <(compgen -W "0 L1 L2" -- "$word"); return ;;
    --report) mapfile -t COMPREPLY < <(compgen -W "text json" -- "$word"); return ;;
    --log-level) mapfile -t COMPREPLY < <(compgen -W "debug info warning error" -- "$word"); return ;;
    --duration | --threshold | --quiet-time | --priority | --duty-cycle | --quantum | --work | --grain | --web.listen-address) return ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$(noised --words 2>/dev/null)" -- "$word")
}
complete -F _noised noised
