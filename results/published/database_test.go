package main

import (
	"strings"
	"testing"
)

const printed = `measured: 2026-11-23
machine: 2 cores, AMD EPYC
load before: 1.5
pkg: triad/results
BenchmarkMillion/list-2    5  30000000 ns/op  31.00 cpu-ms/op
BenchmarkMillion/list/op-bad-impl-2    5  10000000 ns/op  11.00 cpu-ms/op
BenchmarkMillion/diff/last~1-last-2    5  127000000 ns/op  129.0 cpu-ms/op
BenchmarkRecord/100-2    5  10000000 ns/op  9000.7 results/s  9500.2 results/cpu-s
=== ATTR  TestKillsOfTheCommand kills 1003
=== ATTR  TestKillsOfTheCommand plans 80
--- PASS: TestKillsOfTheCommand (1000.00s)
=== ATTR  TestPowerCutsOfTheCommand cuts 300
--- FAIL: TestPowerCutsOfTheCommand (10.00s)
load after: 2.5
`

// The table shows what go test printed, except the counts of a failed test.
func TestDatabaseTable(t *testing.T) {
	part := readPart([]byte(printed))
	text := strings.Join(databaseTable(map[string]measuredPart{
		"questions": part, "recorded": part, "kills": part, "cuts": part,
	}), "\n")
	for _, want := range []string{
		"| `results list` | 10 to 30 ms; processor time 11 to 31 ms | 1 s |",
		"| `results diff` | 127 ms; processor time 129 ms | 1 s |",
		"transactions of 100 | 9000 a second; 9500 a second of processor time | 5,000 a second |",
		"| 1003 kills, ", "80 plans",
		"Measured 2026-11-23 on 2 cores, AMD EPYC; load before and after: questions 1.5, 2.5; recorded 1.5",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for _, absent := range []string{"power cuts", "pages", "writers", "one by one"} {
		if strings.Contains(text, absent) {
			t.Errorf("%q is in\n%s", absent, text)
		}
	}
	if lines := databaseTable(nil); len(lines) != 1 || !strings.Contains(lines[0], "Nothing was measured") {
		t.Errorf("of nothing: %q", lines)
	}
}
