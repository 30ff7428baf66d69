#!/usr/bin/env bash
# One operator's kernels on the GPU that is here: are they right, how fast are they, and what do they wait for?
#
#   lab.sh OP OUT FOLDER...     FOLDER: what `make lab OP=...` packed, of one tree or of several that are to be compared
#
# Each FOLDER's kernels are judged on the quick cases, both passes; what is wrong is not timed. Then the folders take turns, twice, at the bench
# points: CUDA beside Triton, torch and the peers in the same rounds, with one implementation beside itself (A/A). At last ncu, where it is here and
# may read the counters, tells for the first bench point why warps wait. OUT gets lab.txt (all of it as tables), FOLDER.jsonl (the timed records),
# FOLDER.sessions.jsonl (each command with its ceilings and ratios) and stalls-FOLDER/ (what ncu counted).
#
# SECONDS_ALL is how long it may take in all (default 480); IMPL, PASS and POINTS narrow the rows, e.g. IMPL=cuda,triton PASS=forward.
set -u
if [ $# -lt 3 ]; then
	echo "lab.sh OP OUT FOLDER...: want an operator, a folder for what is found, and what make lab OP=... packed" >&2
	exit 2
fi
op=$1 out=$2
shift 2
mkdir -p "$out"
end=$((SECONDS + ${SECONDS_ALL:-480}))
pass=${PASS:-both} impl=${IMPL:-}
narrow=()
[ -n "$impl" ] && narrow+=(--impl "$impl")

# say COMMAND...: runs a command in the time that is left, and keeps what it prints.
say() {
	local left=$((end - SECONDS))
	[ "$left" -lt 15 ] && { echo "lab: no time left for: $*" | tee -a "$out/lab.txt"; return 1; }
	timeout --preserve-status --signal=TERM --kill-after=20 "$left" "$@" >"$out/last.txt" 2>&1
	local code=$?
	tee -a "$out/lab.txt" <"$out/last.txt"
	return "$code"
}

right=()
for folder in "$@"; do
	name=$(basename "$folder")
	echo "== $name: verdicts" | tee -a "$out/lab.txt"
	bad=0
	case $pass in forward | both) say "$folder/triad" compare "$op" --quick --no-timing --device gpu --impl cuda --db "$out/judged.db" || bad=$? ;; esac
	# an operator without a backward says so with exit 2 or 3
	case $pass in backward | both)
		say "$folder/triad" gradcheck "$op" --quick --device gpu --impl cuda --db "$out/judged.db" || [ $? -ne 1 ] || bad=1
		;;
	esac
	if [ "$bad" -eq 1 ]; then
		echo "lab: $name is wrong and is not timed" | tee -a "$out/lab.txt"
	else
		right+=("$folder")
	fi
done
[ ${#right[@]} -eq 0 ] && exit 1

left=$((end - SECONDS - 60)) # for ncu
each=$((left / (2 * ${#right[@]})))
for turn in 1 2; do
	for folder in "${right[@]}"; do
		name=$(basename "$folder")
		echo "== $name: times, turn $turn" | tee -a "$out/lab.txt"
		flags=()
		[ "$pass" != both ] && flags+=(--pass "$pass")
		end_all=$end end=$((SECONDS + each))
		say "$folder/triad" bench "$op" --device gpu --budget "${BUDGET:-1s}" --rounds "${ROUNDS:-40}" --db "$out/$name.db" "${flags[@]}" "${narrow[@]}"
		end=$end_all
	done
done

for folder in "${right[@]}"; do
	name=$(basename "$folder")
	"$folder/triad" results export --db "$out/$name.db" --format jsonl --output "$out/$name.jsonl"
	"$folder/triad" results export --db "$out/$name.db" --format sessions --output "$out/$name.sessions.jsonl"
	if ! command -v ncu >/dev/null; then
		echo "lab: ncu is not here: no stall reasons" | tee -a "$out/lab.txt"
		continue
	fi
	echo "== $name: why warps wait" | tee -a "$out/lab.txt"
	flags=()
	[ "$pass" != both ] && flags+=(--pass "$pass")
	[ -n "$impl" ] || flags+=(--impl cuda)
	timeout --preserve-status --signal=TERM --kill-after=20 60 "$folder/triad" bench "$op" --quick --device gpu --db "$out/judged.db" \
		--profile "$out/stalls-$name" "${flags[@]}" "${narrow[@]}" >"$out/last.txt" 2>&1
	tee -a "$out/lab.txt" <"$out/last.txt"
done
rm -f "$out/last.txt"
