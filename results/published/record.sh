#!/usr/bin/env bash
# Records the published session on the GPU that is here, step by step, each step into a database of its own, and exports it.
#
#   results/published/record.sh FOLDER SECONDS STEP...
#
# Without arguments it prints the steps. SECONDS is how long the command may take: what does not fit is left. The same command again goes on where
# it stopped: what is done is not done again, what was interrupted is resumed. FOLDER gets, of each step, STEP.jsonl (the records with their times),
# STEP.sessions.jsonl (each command with its machine, rulers and ratios), and figure-*.json. Every command measures its own rulers, and compares in
# each case one implementation with itself.
#
# TRIAD names the binary (default: bin/triad; figures take bin/figures.test beside it). PEERS= leaves out the rows of other people's kernels,
# WITHOUT="cutile fla" those of some families.
# OPERATORS="gemv sum" are those that the step catalogue times, instead of all of its own.
set -u
steps="attention fp8_gemm gemm ladder order softmax layernorm swiglu rope sustained judged figures plain large catalogue"
if [ $# -lt 3 ]; then
	cat <<'END'
record.sh FOLDER SECONDS STEP...: the steps of the published session, most important first, each with about how long it takes on an H200

  attention   240 s   flash_attention in bf16: 8 points, both passes
  fp8_gemm    150 s   fp8_gemm in e4m3: 12 points, both passes
  gemm         60 s   gemm in bf16: 5 points, forward
  ladder       60 s   every rung of gemm in fp32 at 4096 cubed
  order        40 s   what the order of programs does to the L2 cache; needs ncu and the sources
  softmax     120 s   softmax in bf16: 6 points, both passes
  layernorm    60 s   layernorm in bf16: 3 points, both passes
  swiglu       40 s   swiglu in bf16, both passes
  rope         60 s   rope in bf16: 2 points, both passes
  sustained   200 s   after seconds of load: fp8_gemm 4096 cubed in three scalings, attention forward causal
  judged      150 s   compare and gradcheck of all operators on the quick cases, nothing timed
  figures     400 s   one call as both arms, a planted slowdown, faults, false alarms, sanitizers; needs nvcc and compute-sanitizer
  plain        30 s   torch's operators timed without triad
  large        60 s   more than 2^31 elements
  catalogue  1000 s   every other operator on its bench points

For commands of at most 480 s:

  results/published/record.sh build/session 480 attention fp8_gemm gemm softmax
  results/published/record.sh build/session 480 ladder order layernorm swiglu rope sustained plain
  results/published/record.sh build/session 480 judged large
  results/published/record.sh build/session 480 catalogue
  results/published/record.sh build/session 480 figures

FOLDER is all that a command needs of the one before: it can be copied to another machine of the same kind.
Then, where the sources are: go run ./results/published FOLDER
END
	exit 2
fi
out=$1
end=$((SECONDS + $2))
shift 2
triad=${TRIAD:-bin/triad}
peers=${PEERS-yes}
mkdir -p "$out"
for name in "$@"; do
	case " $steps " in
	*" $name "*) ;;
	*)
		echo "record: there is no step $name: want one of $steps" >&2
		exit 2
		;;
	esac
done

# attempt NAME LIMIT COMMAND...: the first signal lets a run finish its case, and what it found is recorded; if that was the last, it is complete.
attempt() {
	local name=$1 limit=$2
	shift 2
	timeout --preserve-status --signal=TERM --kill-after=20 "$limit" "$@" >"$out/$name.txt" 2>&1
}

# once NAME COMMAND...: runs it in the time that is left, unless it is done. What can be resumed is called with its own flag, see run.
once() {
	local name=$1 began=$SECONDS
	shift
	[ -e "$out/$name.done" ] && return
	local left=$((end - SECONDS - 10))
	if [ "$left" -lt 10 ]; then
		echo "record: no time left for $name"
		return
	fi
	attempt "$name" "$left" "$@"
	local code=$?
	if [ "$code" -le 1 ] || [ "$code" -eq 3 ] && ! grep -q 'stopped before' "$out/$name.txt"; then
		touch "$out/$name.done"
	fi
	echo "record: $name: exit $code, $((SECONDS - began)) s"
	return "$code"
}

# run STEP NAME VERB...: a command of triad on the step's database. Where an attempt was interrupted it is resumed; exit code 2 says that there is
# nothing to resume.
run() {
	local step=$1 name=$2
	shift 2
	if [ -e "$out/$name.txt" ] && [ ! -e "$out/$name.done" ]; then
		once "$name" "$triad" "$@" --device gpu --db "$out/$step.db" --resume
		[ $? -ne 2 ] && return
	fi
	once "$name" "$triad" "$@" --device gpu --db "$out/$step.db"
}

# bench STEP NAME OURS OTHERS ARGUMENT...: times the implementations OURS, and those of other people in OTHERS (",liger,quack") where triad has them,
# for BUDGET (1 s) a case.
bench() {
	local step=$1 name=$2 ours=$3 others=$4
	shift 4
	[ -z "$peers" ] && others=
	run "$step" "$name" bench "$@" --impl "$ours$others" --budget "${BUDGET:-1s}" --rounds 40
	if [ -n "$others" ] && [ ! -e "$out/$name.done" ] && grep -qE 'no implementation (begins with )?"' "$out/$name.txt" 2>/dev/null; then
		echo "record: $name: without $others: $(grep -m 1 -oE 'no implementation .*' "$out/$name.txt")"
		rm "$out/$name.txt"
		run "$step" "$name" bench "$@" --impl "$ours" --budget "${BUDGET:-1s}" --rounds 40
	fi
}

export_step() {
	local step=$1
	[ -e "$out/$step.db" ] || return
	for kind in jsonl sessions; do
		local file=$out/$step.$([ $kind = jsonl ] || echo sessions.)jsonl
		"$triad" results export --db "$out/$step.db" --format $kind >"$file.part" && mv "$file.part" "$file"
	done
	echo "record: $step: $(wc -l <"$out/$step.jsonl") records"
}

figure() { # NAME of a test, and settings for it
	local test=$1
	shift
	once "$test" env TRIAD_TEST_GPU="$PWD/bin" TRIAD_FIGURES="$out" "$@" bin/figures.test -test.v -test.run "^$test\$"
}

# others_of OPERATOR: the families of other people's rows that it has, and of rows in cuTile, but those of WITHOUT
others_of() {
	local left=$(families_of "$1")
	for family in ${WITHOUT:-}; do left=${left/,$family/}; done
	echo "$left"
}

# families_of OPERATOR: a test compares them with the sources
families_of() {
	case $1 in
	flash_attention) echo ,fa4,cutile ;;
	softmax | layernorm | rmsnorm | rope) echo ,liger,quack,cutile ;;
	swiglu) echo ,liger,cutile ;;
	gemm) echo ,quack,cutile ;;
	cross_entropy) echo ,liger,quack ;;
	linear_cross_entropy) echo ,liger,cce ;;
	top_k) echo ,quack ;;
	fp8_gemm | grouped_fp8_gemm) echo ,deepgemm ;;
	fp8_linear) echo ,torchao ;;
	mla_decode) echo ,flashmla ;;
	nsa_selected | nsa_compressed) echo ,fla ;;
	esac
}

row="cuda/vec,triton,torch"
# The operators without a step of their own, in groups of one command each: importing torch and starting workers takes as long as timing an
# operator. plain are timed with all their kernels. The others name theirs: at their points the rungs before the last take 10 ms to seconds a call.
plain="quantize_fp8 quantize_int8 dropout bias_mask_scale_add rmsnorm count_equal repeat_kv silu gelu add mse copy reverse relu leaky_relu hardtanh
	rainbow_table rgb_invert attention_mask nvfp4_gemv moe_dispatch moe_combine"
reductions="sum dot gemv cross_entropy transpose prefix_sum segment_sum top_k"
products="mla_decode mla nsa_selected nsa_compressed fp8_linear grouped_fp8_gemm grouped_gemm linear_cross_entropy moe int8_gemm conv1d"
choices="nsa_top_blocks"

# group NAME OURS OPERATOR...: times the operators of a group in one command, of OPERATORS those that are in it
group() {
	local name=$1 ours=$2 chosen=() others=
	shift 2
	for operator in "$@"; do
		case " ${OPERATORS:-$operator} " in *" $operator "*) ;; *) continue ;; esac
		chosen+=("$operator")
		for family in $(others_of "$operator" | tr , ' '); do
			case "$others," in *",$family,"*) ;; *) others=$others,$family ;; esac
		done
	done
	[ ${#chosen[@]} -gt 0 ] && bench catalogue "catalogue-$name" "$ours" "$others" "${chosen[@]}"
}

for step in "$@"; do
	case $step in
	attention)
		ours=cuda/sm90_tma,cuda/sm90_wgmma,cuda/sm80_mma,triton/tiled,torch/cudnn,torch/flash
		bench attention attention-forward $ours "$(others_of flash_attention)" flash_attention --dtype bf16 --pass forward
		# a backward of 16,384 queries has eight rounds in a second, in which the clock sways
		BUDGET=4s bench attention attention-backward $ours "$(others_of flash_attention)" flash_attention --dtype bf16 --pass backward
		;;
	fp8_gemm) bench fp8_gemm fp8_gemm cuda/sm90_wgmma,cuda/sm90_tma_fast,triton,torch/scaled_mm,torch/scaled_mm_fast "$(others_of fp8_gemm)" fp8_gemm ;;
	gemm) bench gemm gemm cuda/sm90_tma,cuda/sm80_mma,cuda/cublas,cuda/cublaslt,triton,torch "$(others_of gemm)" gemm --pass forward --dtype bf16 ;;
	ladder) bench ladder ladder cuda,triton/tiled,triton/persistent,torch "" gemm --pass forward --dtype fp32 --dims batch=1,m=4096,n=4096,k=4096 ;;
	order) once order "${PYTHON:-python3}" "$(dirname "$0")/program_order.py" "$out/figure-order.json" ;;
	softmax) bench softmax softmax cuda/sm90_cluster,$row "$(others_of softmax)" softmax --dtype bf16 ;;
	layernorm) bench layernorm layernorm cuda/vec,cuda/partials,triton,torch "$(others_of layernorm)" layernorm --dtype bf16 ;;
	swiglu) bench swiglu swiglu $row "$(others_of swiglu)" swiglu --dtype bf16 ;;
	rope) bench rope rope $row "$(others_of rope)" rope --dtype bf16 ;;
	sustained)
		for scaling in tensor row block; do
			bench sustained "sustained-$scaling" cuda/sm90_wgmma,torch/scaled_mm "" fp8_gemm --pass forward --dims m=4096,n=4096,k=4096 \
				--attr scaling=$scaling --sustained
		done
		bench sustained sustained-attention cuda/sm90_tma,torch/cudnn ,fa4 flash_attention --pass forward --dtype bf16 --attr causal=true \
			--dims batch=4,heads_q=16,heads_kv=16,seq_q=4096,seq_kv=4096,head_dim=128 --sustained
		;;
	judged) # nothing is timed here
		run judged judged-compare compare all --quick --no-timing
		run judged judged-gradcheck gradcheck all --quick
		;;
	catalogue)
		group products cuda/sm90_tma,cuda/sm90_wgmma,cuda/sm80_mma,cuda/mma,cuda/cublas,cuda/cublaslt,cuda/split,triton,torch $products
		group choices cuda/sm80_mma,triton,torch $choices
		group reductions cuda/vec,cuda/warp,cuda/online,cuda/cub,cuda/cublas,cuda/lookback,cuda/three_kernel,cuda/balanced,cuda/swizzled,cuda/threshold,cuda/radix,triton,torch \
			$reductions
		group plain cuda,triton,torch $plain
		;;
	figures)
		figure TestFigureSameKernel
		figure TestFigureSlowdown
		figure TestFigureFaults
		figure TestPlantedBugsOnGPU
		figure TestFigureAlarms TRIAD_FIGURE_SECONDS=100 TRIAD_FIGURE_WORKERS=8
		once sanitizers bash -c '"$0" compare all --sanitize all --json --db "$1/sanitizers.db" >"$1/sanitizers.part"; code=$?
			mv "$1/sanitizers.part" "$1/figure-sanitizers.json"; exit $code' "$triad" "$out"
		;;
	plain) once plain "${PYTHON:-python3}" "$(dirname "$0")/plain_torch.py" "$out/figure-plain.json" ;;
	large)
		run large large compare softmax --dims rows=65537,cols=32776 --dtype bf16 --pass forward --distribution normal --layout contiguous \
			--impl cuda/vec,cuda/online,triton/online,torch/eager --no-timing
		;;
	esac
	export_step "$step"
done
ls "$out"/*.done >/dev/null 2>&1 && echo "record: done: $(cd "$out" && ls -- *.done | sed 's/\.done$//' | tr '\n' ' ')"
