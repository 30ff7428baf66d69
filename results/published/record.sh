#!/usr/bin/env bash
# Records a full session on the GPU that is here: compare and gradcheck of all six operators, then bench of all their points, into one
# database, and exports it.
#
#   results/published/record.sh FOLDER [SECONDS]
#
# TRIAD names the binary (default: bin/triad). FOLDER gets session.db, session.jsonl and session.md. SECONDS is how long it may take (default
# 300): what does not fit is left out, at the end of each step and of the list below; the same command again with the same FOLDER goes on where it
# stopped. A step that fails does not end the rest.
set -u
out=${1:?usage: record.sh FOLDER [SECONDS]}
end=$((SECONDS + ${2:-300}))
triad=${TRIAD:-bin/triad}
db=$out/session.db
mkdir -p "$out"

# step NAME SECONDS COMMAND...: the first signal lets a run finish its case, and what it found is recorded.
step() {
	local name=$1 limit=$2 began=$SECONDS
	shift 2
	local left=$((end - SECONDS))
	if [ "$left" -lt 8 ]; then
		echo "record: no time left for $name"
		return
	fi
	timeout --signal=TERM --kill-after=20 "$((limit < left ? limit : left))" "$@" >"$out/$name.txt" 2>&1
	echo "record: $name: exit $?, $((SECONDS - began)) s"
}

# Nothing is timed here: the two may share the GPU.
step compare 70 "$triad" compare all --device gpu --quick --no-timing --db "$db" &
step gradcheck 70 "$triad" gradcheck all --device gpu --quick --db "$db" &
wait

# bench NAME SECONDS OP FLAGS...: what an earlier run of this script left is finished first.
bench() {
	local name=bench-$1 limit=$2 resume=()
	shift 2
	[ -e "$out/$name.txt" ] && resume=(--resume)
	step "$name" "$limit" "$triad" bench "$@" --device gpu --db "$db" --budget 1s --rounds 60 "${resume[@]}"
}

# The naive products take seconds a call on these points, and would take the time of all others.
bench attention 60 flash_attention --dtype bf16 --dims batch=4,seq_q=4096,seq_kv=4096 --impl cuda/sm90_wgmma,cuda/sm80_mma,cuda/tiled,triton,torch
bench fp8_gemm 55 fp8_gemm --impl cuda/sm90_wgmma,cuda/tiled,triton,torch
bench softmax 40 softmax --dtype bf16
bench layernorm 35 layernorm --dtype bf16
bench swiglu 15 swiglu --dtype bf16
bench rope 25 rope --dtype bf16
bench attention-16k 60 flash_attention --dtype bf16 --impl cuda/sm90_wgmma,cuda/sm80_mma,triton,torch/cudnn,torch/flash

"$triad" results export --db "$db" >"$out/session.jsonl"
"$triad" results export --db "$db" --format md >"$out/session.md"
echo "record: $(wc -l <"$out/session.jsonl") records, $(wc -c <"$out/session.jsonl") bytes, $SECONDS s"
