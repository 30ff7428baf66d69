package serve

import (
	"io"
	"net/http"
	"os"
	"testing"

	"triad/results"
)

// BenchmarkPages requests each page of a database with a million results, which TRIAD_TEST_SCALE names and
// BenchmarkMillion of results makes.
func BenchmarkPages(b *testing.B) {
	path := os.Getenv("TRIAD_TEST_SCALE")
	if path == "" {
		b.Skip(
			"TRIAD_TEST_SCALE names no database: go test -run '^$' -bench Million ./results makes one there",
		)
	}
	s, address := serving(b, path, Options{})
	newest, _, err := s.store.List(b.Context(), results.Filter{Op: []string{"op07"}, Limit: 1})
	if err != nil || len(newest) == 0 {
		b.Fatalf("%d runs, %v", len(newest), err)
	}
	for name, page := range map[string]string{
		"sessions": "/", "runs": "/runs", "runs-filtered": "/runs?op=op07&status=bad&impl=cuda",
		"runs-dtype": "/runs?dtype=bf16&impl=triton", "operator": "/op/op07", "run": "/run/" + newest[0].ID,
		"session": "/session/" + newest[0].Session, "diff": "/diff?a=last~1&b=last", "findings": "/findings",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				request, err := http.NewRequest(http.MethodGet, "http://"+address+page, nil)
				if err != nil {
					b.Fatal(err)
				}
				request.AddCookie(&http.Cookie{Name: s.cookie, Value: s.token})
				answer, err := http.DefaultClient.Do(request)
				if err != nil {
					b.Fatal(err)
				}
				size, err := io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
				if err != nil || answer.StatusCode != http.StatusOK || size == 0 {
					b.Fatalf("%s: %s, %d bytes, %v", page, answer.Status, size, err)
				}
				b.ReportMetric(float64(size)/1e6, "MB")
			}
		})
	}
}
