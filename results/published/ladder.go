package main

import (
	"cmp"
	"fmt"
	"slices"

	"triad/internal/report"
)

// layouts are those of gemm's second operand, as a column of the ladder's table is headed.
var layouts = []struct{ name, title string }{{"kn", "b [k, n]"}, {"nk", "b [n, k]"}}

// ladder returns the table of gemm's rungs in fp32, slowest first: the time of each, its rate and its share
// of the rate of the session's fp32 product, in both layouts of b.
func ladder(records []record) []string {
	times := map[string]map[string]timing{}
	var rungs []string
	for _, r := range records {
		if r.Op != "gemm" || r.DType != "fp32" || r.Pass != "forward" {
			continue
		}
		for _, t := range r.times() {
			if t.Status != "PASS" || t.Regime != "cold" || t.Roofline == nil {
				continue
			}
			if times[r.Impl] == nil {
				times[r.Impl] = map[string]timing{}
				rungs = append(rungs, r.Impl)
			}
			times[r.Impl][r.Attributes["layout_b"]] = t
		}
	}
	if len(rungs) == 0 {
		return []string{"The ladder was not recorded with this session."}
	}
	slices.SortFunc(rungs, func(a, b string) int {
		return cmp.Compare(times[b][layouts[0].name].MedianNS, times[a][layouts[0].name].MedianNS)
	})
	head, rule := "| rung |", "|---|"
	for _, l := range layouts {
		head += fmt.Sprintf(" %s | rate | share of the fp32 roofline |", l.title)
		rule += "--:|--:|--:|"
	}
	out := []string{head, rule}
	for _, rung := range rungs {
		line := "| " + rung + " |"
		for _, l := range layouts {
			t, timed := times[rung][l.name]
			if !timed {
				line += " | | |"
				continue
			}
			line += fmt.Sprintf(" %s | %.2f TFLOP/s | %.1f %% |", report.Duration(t.MedianNS),
				t.FLOPs/t.MedianNS/1e3, *t.Roofline*100)
		}
		out = append(out, line)
	}
	return out
}

// programOrder returns the table of the effect of the order of a product's programs on the L2 cache.
func programOrder(p published) []string {
	var all []struct {
		Op        string  `json:"op"`
		Impl      string  `json:"impl"`
		DType     string  `json:"dtype"`
		Size      int64   `json:"size"`
		Group     int64   `json:"group"`
		Hits      float64 `json:"l2_hit_percent"`
		BytesRead float64 `json:"dram_read_bytes"`
		TimeNS    float64 `json:"time_ns"`
	}
	if !p.decode("order", &all) {
		return []string{"The order of programs was not recorded with this session."}
	}
	out := []string{
		"| product | rows of tiles walked together | found in L2 | read from memory | time |",
		"|---|--:|--:|--:|--:|",
	}
	for _, o := range all {
		out = append(out, fmt.Sprintf("| %s %s %d cubed, %s | %d | %.1f %% | %.2f GB | %s |", o.Impl, o.Op,
			o.Size, o.DType, o.Group, o.Hits, o.BytesRead/1e9, report.Duration(o.TimeNS)))
	}
	return out
}
