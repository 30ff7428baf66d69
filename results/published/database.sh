#!/usr/bin/env bash
# results/published/database.sh [PART...] measures the database of results on this machine and keeps what go test prints in
# results/published/database/PART.txt, from which go run ./results/published makes the table of results/published/README.md. The parts are
#   questions  verbs on a database of 1,000,000 results (2 minutes)
#   recorded   how fast results are recorded (1 minute)
#   pages      the pages of triad serve on the same database (1 minute)
#   writers    8 processes that record 1,000 results each into one database (1 minute)
#   kills      1,000 kill -9 of the real command and its workers (30 minutes)
#   cuts       300 power cuts each of a recorder and of the real command (10 minutes)
# Without a name all of them are measured. TRIAD_TEST_SCALE names a file that the large database (1.4 GB) is kept in.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=results/published/database
mkdir -p "$folder"
made=
if [ -z "${TRIAD_TEST_SCALE:-}" ]; then
	made=$(mktemp -d)
	trap 'rm -rf "$made"' EXIT
	TRIAD_TEST_SCALE=$made/million.db
fi
export TRIAD_TEST_SCALE

run() { # PART go test's arguments
	local part=$1 new
	new=$(mktemp)
	shift
	{
		echo "measured: $(date -u +%Y-%m-%d)"
		echo "machine: $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)"
		echo "commit: $(git rev-parse --short=10 HEAD 2>/dev/null || echo unknown)"
		echo "load before: $(cut -d ' ' -f 1 /proc/loadavg)"
		go test -count=1 -timeout 120m "$@" | grep -E '^(goos|goarch|pkg|cpu|Benchmark|--- |PASS|FAIL|ok)|=== ATTR|^panic'
		echo "load after: $(cut -d ' ' -f 1 /proc/loadavg)"
	} >"$new"
	chmod 644 "$new"
	mv "$new" "$folder/$part.txt"
	echo "$folder/$part.txt"
}

for part in ${*:-questions recorded pages writers kills cuts}; do
	case $part in
	questions) run questions -run '^$' -bench Million -benchtime 5x ./results ;;
	recorded) run recorded -run '^$' -bench Record -benchtime 100x ./results ;;
	pages)
		[ -e "$TRIAD_TEST_SCALE" ] || go test -run '^$' -bench 'Million/list$' -benchtime 1x ./results >/dev/null
		run pages -run '^$' -bench Pages -benchtime 5x ./internal/serve
		;;
	writers) TRIAD_TEST_LONG=1 run writers -v -run '^TestWritersSideBySide$' ./results ;;
	kills) TRIAD_TEST_LONG=1 run kills -v -run '^TestKillsOfTheCommand$' ./results ;;
	cuts) TRIAD_TEST_LONG=1 run cuts -v -run 'PowerCuts' ./results ;;
	*)
		echo "database.sh: $part: want questions, recorded, pages, writers, kills or cuts" >&2
		exit 2
		;;
	esac
done
