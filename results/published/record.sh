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
step compare 90 "$triad" compare all --device gpu --quick --no-timing --db "$db" &
step gradcheck 90 "$triad" gradcheck all --device gpu --quick --db "$db" &
wait

# bench OP SECONDS FLAGS...: what an earlier run of this script left is finished first.
bench() {
	local op=$1 limit=$2
	shift 2
	local resume=()
	[ -e "$out/bench-$op.txt" ] && resume=(--resume)
	step "bench-$op" "$limit" "$triad" bench "$op" --device gpu --db "$db" --budget 1s --rounds 60 "$@" "${resume[@]}"
}
bench softmax 60 --dtype bf16
bench layernorm 45 --dtype bf16
bench swiglu 25 --dtype bf16
bench rope 30 --dtype bf16
bench fp8_gemm 80
bench flash_attention 80 --dtype bf16

"$triad" results export --db "$db" >"$out/session.jsonl"
"$triad" results export --db "$db" --format md >"$out/session.md"
echo "record: $(wc -l <"$out/session.jsonl") records, $(wc -c <"$out/session.jsonl") bytes, $SECONDS s"
