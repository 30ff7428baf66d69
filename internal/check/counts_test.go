package check

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triad/cuda/program"
)

// accesses is a program whose kernels read and write with known counts.
const accesses = `#include <cuda_runtime.h>
__global__ void columns(const float *x, float *y) {
	__shared__ float tile[32][WIDTH];
	int r = threadIdx.y, c = threadIdx.x;
	tile[r][c] = x[r * 32 + c];
	__syncthreads();
	y[r * 32 + c] = tile[c][r];
}
__global__ void strided(const float *x, float *y) {
	y[threadIdx.x] = x[threadIdx.x * 8];
}
__global__ void vectors(const float4 *x, float4 *y) {
	__shared__ float4 s[64];
	s[threadIdx.x] = x[threadIdx.x];
	__syncthreads();
	y[threadIdx.x] = s[threadIdx.x ^ 1];
}
__global__ void shifted(const float *x, float *y) {
	y[threadIdx.x] = x[threadIdx.x + 1];
}
__global__ void members(const float4 *x, float *y) {
	float4 v = x[threadIdx.x];
	y[threadIdx.x] = v.x + v.y * v.z - v.w;
}
__global__ void tally(float *y) {
	atomicAdd(&y[threadIdx.x % 2], 1.0f);
}
int main() {
	float *x, *y;
	cudaMalloc(&x, 4100);
	cudaMalloc(&y, 4096);
	cudaMemset(x, 0, 4100);
	columns<<<1, dim3(32, 32)>>>(x, y);
	strided<<<2, 48>>>(x, y);
	vectors<<<1, 64>>>((float4 *)x, (float4 *)y);
	shifted<<<1, 32>>>(x, y);
	members<<<1, 32>>>((float4 *)x, y);
	tally<<<1, 64>>>(y);
	cudaFree(x);
	cudaFree(y);
}
`

// TestCounts: requests, sectors and wavefronts follow from how a GPU serves a warp.
func TestCounts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "accesses.cu")
	if err := os.WriteFile(file, []byte(accesses), 0o600); err != nil {
		t.Fatal(err)
	}
	for width, conflicts := range map[string]int64{"32": 32, "33": 1} {
		r := counted(t, file, "WIDTH="+width)
		want := map[string]string{ // requests, lanes, parts, least
			"columns 5 read device":  "32 1024 128 128",
			"columns 5 write shared": "32 1024 32 32",
			"columns 7 read shared":  fmt.Sprintf("32 1024 %d 32", 32*conflicts),
			"columns 7 write device": "32 1024 128 128",
			// two blocks, each with one and a half warps; every lane has its own sector
			"strided 10 read device":  "4 96 96 12",
			"strided 10 write device": "4 96 12 12",
			// 16 bytes a lane take four wavefronts
			"vectors 14 read device":  "2 64 32 32",
			"vectors 14 write shared": "2 64 8 8",
			"vectors 16 read shared":  "2 64 8 8",
			"vectors 16 write device": "2 64 32 32",
			"shifted 19 read device":  "1 32 5 4",
			"shifted 19 write device": "1 32 4 4",
			// one access of 16 bytes a lane, whose members are used one by one
			"members 22 read device":  "1 32 16 16",
			"members 23 write device": "1 32 4 4",
			// two warps, each with one sector: the load before an emulated addition is no request
			"tally 26 atomic device": "2 64 2 2",
		}
		for _, c := range r.Counts {
			if c.Place == nil || c.Access == diverged {
				continue
			}
			key := fmt.Sprint(c.Kernel, " ", c.Place.Line, " ", c.Access, " ", c.Memory)
			got := fmt.Sprint(c.Requests, " ", c.Lanes, " ", c.Parts, " ", c.Least)
			if want[key] != got {
				t.Errorf("width %s: %s has %s, want %q", width, key, got, want[key])
			}
			delete(want, key)
		}
		if len(want) > 0 {
			t.Errorf("width %s: not counted: %v", width, want)
		}
		var text strings.Builder
		if err := Write(&text, r, filepath.Dir(file), true); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{
			"Kernel columns: 1 launches, 1 blocks in all, 1024 threads and ",
			fmt.Sprintf("accesses.cu:7 read shared 32 32.00 %.2f 1.00 wavefronts", float64(conflicts)),
		} {
			if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), line) {
				t.Errorf("no %q in\n%s", line, text.String())
			}
		}
	}
}

// diverging is a program in whose first loop half of each warp takes part; the branch in line 8 is uniform
// per warp, and in line 13 a lane iterates as often as its index says.
const diverging = `#include <cuda_runtime.h>
__global__ void halves(int *x) {
	int t = threadIdx.x;
	if (t % 2) {
		for (int i = 0; i < 4; i++)
			x[t] += i;
	}
	if (t / 32 == 1)
		x[t] = 7;
}
__global__ void triangle(int *x) {
	for (unsigned i = 0; i < threadIdx.x; i++)
		x[threadIdx.x]++;
}
int main() {
	int *x;
	cudaMalloc(&x, 256);
	cudaMemset(x, 0, 256);
	halves<<<1, 64>>>(x);
	triangle<<<1, 32>>>(x);
	cudaFree(x);
}
`

// TestDivergence: a line that only part of a warp runs is counted, with its number of lanes.
func TestDivergence(t *testing.T) {
	file := filepath.Join(t.TempDir(), "diverging.cu")
	if err := os.WriteFile(file, []byte(diverging), 0o600); err != nil {
		t.Fatal(err)
	}
	r := counted(t, file)
	want := map[string]string{ // runs by a warp, lanes, those with a part of the warp
		"halves 6": "8 128 8", "halves 9": "1 32 0", "triangle 13": "31 496 31",
	}
	for _, c := range r.Counts {
		if c.Access != diverged {
			continue
		}
		key := fmt.Sprint(c.Kernel, " ", c.Place.Line)
		got := fmt.Sprint(c.Requests, " ", c.Lanes, " ", c.Parts)
		if want[key] != "" && got != want[key] {
			t.Errorf("%s: runs, lanes and partial runs are %s, want %s", key, got, want[key])
		}
		delete(want, key)
	}
	if len(want) > 0 {
		t.Errorf("not counted: %v in %+v", want, r.Counts)
	}
	var text strings.Builder
	if err := Write(&text, r, filepath.Dir(file), true); err != nil {
		t.Fatal(err)
	}
	line := "diverging.cu:6 run 8 16.00 8 with a part of the warp"
	words := strings.Join(strings.Fields(text.String()), " ")
	if !strings.Contains(words, line) || strings.Contains(words, "diverging.cu:9 run") {
		t.Errorf("no %q, or a run of line 9, in\n%s", line, text.String())
	}
}

// TestCountsBetweenBarriers: accesses after a barrier are not joined with those before it, even if each round
// has more lanes than the previous one.
func TestCountsBetweenBarriers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "growing.cu")
	const program = `#include <cuda_runtime.h>
__global__ void growing() {
	__shared__ int s[64];
	for (int d = 1; d <= 32; d *= 2) {
		__syncthreads();
		if (threadIdx.x < d) s[32 / d * (2 * threadIdx.x + 1) - 1] = d;
	}
}
int main() {
	growing<<<1, 32>>>();
	cudaDeviceSynchronize();
}
`
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range counted(t, file).Counts {
		// one lane takes one wavefront; from two on the elements are 64/d apart: two of them share each bank
		if c.Memory == "shared" && (c.Requests != 6 || c.Lanes != 63 || c.Parts != 11) {
			t.Errorf("%d requests of %d lanes take %d turns, want 6 of 63, 11", c.Requests, c.Lanes, c.Parts)
		}
		if c.Place != nil && c.Access == diverged && c.Place.Line == 6 && c.Parts != 5 {
			t.Errorf("line 6 is run %d times with a part of the warp, want 5", c.Parts)
		}
	}
}

// counted runs a program and counts its accesses and line runs.
func counted(t *testing.T, file string, define ...string) *Report {
	t.Helper()
	q := builtOf(t, program.Source{File: file, Define: define, Counts: true})
	q.Limit, q.Stall, q.Budget, q.Counts = time.Minute, 2*time.Second, time.Minute, true
	r, err := Run(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Findings) > 0 {
		t.Errorf("found %s", r.Findings[0].Sentence())
	}
	return r
}
