package check

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// profiled holds a profiler's counts of a kernel on a GPU.
type profiled struct {
	Program, Kernel string
	Launches        float64 // that it counted
	DeviceRead      sums    `json:"device read"`
	DeviceWrite     sums    `json:"device write"`
	SharedRead      sums    `json:"shared read"`
	SharedWrite     sums    `json:"shared write"`
	Differs         string  // why the counts of --explain differ; "": they do not
}

// sums covers all launches. The profiler counts requests of device memory only.
type sums struct{ Requests, Parts float64 }

// TestCountsOfAProfiler: a launch has the requests, sectors and wavefronts that Nsight Compute counted on a
// GPU, within 2 %, except for kernels with a known reason to differ.
func TestCountsOfAProfiler(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "profiler.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Kernels []profiled }
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	of := map[string]map[string]Counts{} // by program
	same := 0
	for _, p := range all.Kernels {
		if of[p.Program] == nil {
			file := filepath.Join("..", "..", "cuda", "emulator", "testdata", "programs", p.Program+".cu")
			of[p.Program] = byAccess(counted(t, file))
		}
		far := p.farFrom(of[p.Program])
		switch {
		case p.Differs == "" && len(far) > 0:
			t.Errorf("%s of %s: a launch has %v", p.Kernel, p.Program, far)
		case p.Differs != "" && len(far) == 0:
			t.Errorf("%s of %s has the counts of the profiler now", p.Kernel, p.Program)
		case p.Differs == "":
			same++
		}
	}
	if same < 10 {
		t.Errorf("%d kernels have the counts of the profiler, want at least 10", same)
	}
}

// byAccess returns the counts of a report by kernel and access, and the launches by kernel alone.
func byAccess(r *Report) map[string]Counts {
	all := map[string]Counts{}
	for _, c := range inAll(r) {
		all[c.Kernel+" "+c.Memory+" "+c.Access] = c
	}
	for _, c := range r.Counts {
		if c.Place == nil {
			all[c.Kernel] = c
		}
	}
	return all
}

// farFrom returns the counts of a launch that differ by more than 2 % from the profiler's.
func (p profiled) farFrom(counts map[string]Counts) (far map[string][2]float64) {
	far = map[string][2]float64{}
	launches := float64(counts[p.Kernel].Launches)
	for access, want := range map[string]sums{
		"device read": p.DeviceRead, "device write": p.DeviceWrite,
		"shared read": p.SharedRead, "shared write": p.SharedWrite,
	} {
		c := counts[p.Kernel+" "+access]
		pairs := map[string][2]float64{"parts": {float64(c.Parts) / launches, want.Parts / p.Launches}}
		if access == "device read" || access == "device write" {
			pairs["requests"] = [2]float64{float64(c.Requests) / launches, want.Requests / p.Launches}
		}
		for name, pair := range pairs {
			if !(math.Abs(pair[0]-pair[1]) <= 0.02*pair[1]) {
				far[access+" "+name] = pair
			}
		}
	}
	return far
}
