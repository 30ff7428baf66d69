#!/bin/sh
# Writes the tables of results/published/problems: what the checks of published sets of problems are worth.
#   audit.sh TRIAD CLONES [SET...]
# CLONES is a folder with clones of the repositories, under their own names. A set whose clone is not there is
# not run. What was done already is kept by triad, so that the same command goes on after a stop.
set -eu
triad=$1 clones=$2
shift 2
limit=262144
tables=$(dirname "$0")
wanted=" $* "

audit() { # SET REPOSITORY FOLDER [FORMAT]
	case "$wanted" in "  " | *" $1 "*) ;; *) return 0 ;; esac
	clone=$clones/$(basename "$2")
	if [ ! -e "$clone/$3" ]; then
		echo "$1: not run: there is no $clone/$3"
		return 0
	fi
	commit=$(git -C "$clone" rev-parse HEAD)
	made=$(mktemp -d)
	printf '{"repository":"%s","commit":"%s","folder":"%s","limit":%s}\n' "$2" "$commit" "$3" "$limit" >"$made/json"
	"$triad" import --audit ${4:-} "$clone/$3" --limit "$limit" --json >>"$made/json"
	printf '%s, %s, at commit %s; sizes cut to %s elements\n\n' "$2" "$3" "$commit" "$limit" >"$made/text"
	"$triad" import --audit ${4:-} "$clone/$3" --limit "$limit" >>"$made/text"
	mv "$made/json" "$tables/$1.jsonl"
	mv "$made/text" "$tables/$1.txt"
	rmdir "$made"
	tail -n 1 "$tables/$1.txt"
}

audit kernelbench_level1 https://github.com/ScalingIntelligence/KernelBench KernelBench/level1
audit kernelbench_level2 https://github.com/ScalingIntelligence/KernelBench KernelBench/level2
audit leetgpu https://github.com/AlphaGPU/leetgpu-challenges challenges
audit tensara https://github.com/tensara/problems problems
audit gpumode https://github.com/gpu-mode/reference-kernels problems
audit triton_puzzles https://github.com/srush/Triton-Puzzles Triton-Puzzles.ipynb
audit flashinfer https://github.com/flashinfer-ai/flashinfer-bench flashinfer_trace/definitions
audit robust_kbench https://github.com/SakanaAI/robust-kbench tasks robust-kbench
