package report

import (
	"strings"
	"testing"
)

// TestSanitized: a tool without findings is CLEAN only if it saw everything; else a line says what is
// missing.
func TestSanitized(t *testing.T) {
	var out strings.Builder
	err := Sanitized(&out, Style{}, []SanitizerLine{
		{
			Tool: "memcheck", Clean: true, Kernels: 2, Calls: 9, Processes: 1,
			Never:   []string{"softmax cuda/block forward: cols > 1024"},
			Watched: 30,
			Beyond: []string{
				"_ZN43_GLOBAL__N__fdc72d18_10_softmax_cu_e246014515softmax_fwd_vecIfLi8ELi8EEEvPf",
			},
		},
		{
			Tool: "racecheck", Kernels: 2, Calls: 9, Processes: 1,
			Findings: []SanitizerFinding{{"Error: Race", "f(float *)", "softmax.cu:7", 3}},
		},
		{
			Tool: "initcheck", Kernels: 1, Calls: 4, Processes: 1, Part: true, Watched: 29,
			Missed: []string{"_ZN5triad13product_wgmmaILi4ELb0EEEvi"},
			Beyond: []string{"_ZN1fEv"}, Never: []string{"softmax cuda/block forward: cols > 1024"},
		},
		{Tool: "synccheck", Cut: 2, Bad: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `  tool       verdict   implementations  compiled kernels  calls  findings
  memcheck   CLEAN                   2          30 of 31      9         0
  racecheck  FOUND                   2                        9         1
  initcheck  UNPROVEN                1          29 of 31      4         0
  synccheck  UNPROVEN                0                        0         0

  tool       where         what         times  kernel
  racecheck  softmax.cu:7  Error: Race      3  f(float *)

Never called at this level: softmax cuda/block forward: cols > 1024.
initcheck: stopped before its plan was done.
initcheck: 1 compiled kernel did not run under it: triad13product_wgmmaILi4ELb0.
synccheck watched no worker to its end: nothing is proven.
synccheck: the report of 2 workers has no summary, the rest of it is lost.
synccheck: 1 record bad under it: triad results list shows why.
No case launches 1 compiled kernel: softmax_fwd_vecIfLi8ELi8.
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
