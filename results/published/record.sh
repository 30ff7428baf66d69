#!/usr/bin/env bash
# Records a full session on the GPU that is here: compare and gradcheck of all six operators, then bench of their points, into one database,
# and exports it.
#
#   results/published/record.sh FOLDER [SECONDS]
#
# TRIAD names the binary (default: bin/triad). FOLDER gets session.db, session.jsonl and session.md. SECONDS is how long it may take (default
# 480): what does not fit is left out, at the end of each step and of the list below. The same command again with the same FOLDER goes on where
# it stopped: what is done is not done again, what was interrupted is resumed. A step that fails does not end the rest.
set -u
out=${1:?usage: record.sh FOLDER [SECONDS]}
end=$((SECONDS + ${2:-480}))
triad=${TRIAD:-bin/triad}
db=$out/session.db
mkdir -p "$out"

export_session() {
	"$triad" results export --db "$db" >"$out/session.jsonl.part" && mv "$out/session.jsonl.part" "$out/session.jsonl"
	"$triad" results export --db "$db" --format md >"$out/session.md.part" && mv "$out/session.md.part" "$out/session.md"
	echo "record: $(wc -l <"$out/session.jsonl") records, $(wc -c <"$out/session.jsonl") bytes, $SECONDS s"
}

# attempt NAME LIMIT COMMAND...: the first signal lets a run finish its case, and what it found is recorded; if that was the last, it is complete.
attempt() {
	local name=$1 limit=$2
	shift 2
	timeout --preserve-status --signal=TERM --kill-after=20 "$limit" "$@" >"$out/$name.txt" 2>&1
}

# step NAME SECONDS COMMAND...: done once it ended by itself; 2 is the exit code where there is nothing to resume.
step() {
	local name=$1 limit=$2 began=$SECONDS code=2
	shift 2
	[ -e "$out/$name.done" ] && return
	local left=$((end - SECONDS))
	if [ "$left" -lt 8 ]; then
		echo "record: no time left for $name"
		return
	fi
	[ "$limit" -gt "$left" ] && limit=$left
	if [ -e "$out/$name.txt" ]; then
		attempt "$name" "$limit" "$@" --resume
		code=$?
	fi
	if [ "$code" -eq 2 ]; then
		attempt "$name" "$limit" "$@"
		code=$?
	fi
	if [ "$code" -le 1 ] && ! grep -q 'stopped before' "$out/$name.txt"; then
		touch "$out/$name.done"
	fi
	echo "record: $name: exit $code, $((SECONDS - began)) s"
}

# Nothing is timed here: operators share the GPU. What takes longest is torch.compile, a process for each.
operators="softmax layernorm swiglu rope fp8_gemm flash_attention"
for verb in compare gradcheck; do
	untimed=$([ $verb = compare ] && echo --no-timing)
	for operator in $operators; do
		step $verb-$operator 200 "$triad" $verb $operator --device gpu --quick $untimed --db "$db" &
	done
	wait
done

bench() {
	local name=bench-$1 limit=$2
	shift 2
	step "$name" "$limit" "$triad" bench "$@" --device gpu --db "$db" --budget 1s --rounds 40
}

# The naive products take seconds a call on these points, and would take the time of all others.
attention="--dtype bf16 --dims batch=4,heads_q=16,heads_kv=16,seq_q=4096,seq_kv=4096,head_dim=128"
row_impls="cuda/vec,triton,torch"
bench attention 80 flash_attention $attention --impl cuda/sm90_wgmma,cuda/sm80_mma,triton/tiled,torch/cudnn,torch/flash,torch/efficient
bench fp8_gemm 75 fp8_gemm --dims m=4096,n=4096,k=4096 --impl cuda/sm90_wgmma,triton,torch
bench softmax 45 softmax --dtype bf16 --dims rows=8192,cols=4096 --impl $row_impls
bench layernorm 40 layernorm --dtype bf16 --dims rows=8192,cols=4096 --impl cuda/vec,cuda/partials,triton,torch
bench rope 40 rope --dtype bf16 --impl $row_impls
bench swiglu 60 swiglu --dtype bf16 --impl $row_impls
bench fp8_gemm-8192 60 fp8_gemm --dims m=8192,n=8192,k=8192 --pass forward --impl cuda/sm90_wgmma,torch/scaled_mm
bench layernorm-all 45 layernorm --dtype bf16 --pass backward --impl cuda/partials,torch
bench softmax-all 90 softmax --dtype bf16 --impl $row_impls
bench sustained 80 fp8_gemm --pass forward --dims m=4096,n=4096,k=4096 --attr scaling=tensor --burst --sustained --impl cuda/sm90_wgmma,torch/scaled_mm
bench attention-64 60 flash_attention --dtype bf16 --dims batch=4,heads_q=32,heads_kv=32,seq_q=4096,seq_kv=4096,head_dim=64 --impl cuda/sm90_wgmma,torch/cudnn,torch/flash
export_session
