package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"triad/internal/report"
)

// figureTable returns the table of the figures' results, one line each; missing ones have no line.
func figureTable(p published) []string {
	out := []string{"| goal | found |", "|---|---|"}
	add := func(asked, found string) {
		if found != "" {
			out = append(out, "| "+asked+" | "+found+" |")
		}
	}
	add("the same call as both candidates, at most 1 % FASTER or SLOWER of at least 200", sameKernel(p))
	add("a planted slowdown of 3 %, found in at least 95 % of 40 tries", slowdown(p))
	add("ten each of five faults in one sweep, each recorded as what it is", faults(p))
	add("no false alarm in 100,000 verdicts", alarms(p))
	add("memcheck, racecheck, initcheck, synccheck over every CUDA kernel", sanitizers(p))
	add("bugs planted for them", planted(p))
	add("cold median of a torch operator and of a plain torch measurement with CUDA graphs and the same "+
		"rotation (`plain_torch.py`), within 2 %", plain(p))
	add("more than 2^31 elements: softmax at 65537 x 32776", large(p))
	if len(out) == 2 {
		return []string{"No figure was recorded with this session."}
	}
	return out
}

// trial is one comparison of the figures.
type trial struct {
	What         string `json:"what"`
	SpeedVerdict string `json:"word"`
}

func sameKernel(p published) string {
	var all []struct{ Noise, Same trial }
	if !p.decode("same-kernel", &all) {
		return ""
	}
	n, calls := map[string]int{}, map[string]bool{}
	for _, t := range all {
		n[t.Same.SpeedVerdict]++
		calls[t.Same.What] = true
	}
	return fmt.Sprintf("%d of %d (%s) over %d calls", n["FASTER"]+n["SLOWER"], len(all),
		counts(n), len(calls))
}

func slowdown(p published) string {
	var all []trial
	if !p.decode("slowdown", &all) {
		return ""
	}
	n, kinds := map[string]int{}, map[string]bool{}
	for _, t := range all {
		n[t.SpeedVerdict]++
		kinds[t.What] = true
	}
	return fmt.Sprintf("%d of %d, over calls whose kernel %s", n["SLOWER"], len(all),
		strings.Join(slices.Sorted(maps.Keys(kinds)), ", or "))
}

func faults(p published) string {
	var all map[string]map[string]int
	if !p.decode("faults", &all) {
		return ""
	}
	var words []string
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		words = append(words, kind+": "+counts(all[kind]))
	}
	return strings.Join(words, "; ")
}

func alarms(p published) string {
	var all struct {
		Verdicts   int            `json:"verdicts"`
		Bad        int            `json:"bad"`
		Documented map[string]int `json:"documented"`
		Runs       []struct {
			Seeds int `json:"seeds"`
		} `json:"runs"`
	}
	if !p.decode("alarms", &all) {
		return ""
	}
	seeds, known := 0, 0
	for _, r := range all.Runs {
		seeds += r.Seeds
	}
	for _, n := range all.Documented {
		known += n
	}
	return fmt.Sprintf("%d verdicts on %d fresh seeds: %d records of a kernel that is right are bad; %d "+
		"more show what is known of vendors' kernels", all.Verdicts, seeds, all.Bad, known)
}

func sanitizers(p published) string {
	text, there := p.figures["sanitizers"]
	if !there {
		return ""
	}
	tools := map[string][]string{} // by what they found
	var found []string
	err := eachLine(text, func(s struct {
		Tool     string   `json:"tool"`
		Findings []any    `json:"findings"`
		Calls    int      `json:"calls"`
		Bad      int      `json:"bad"`
		Part     bool     `json:"part"`
		Watched  int      `json:"watched"`
		Missed   []string `json:"missed"`
	},
	) {
		line := fmt.Sprintf("%d findings, %d bad records, %d of %d compiled kernels that a case launches, "+
			"%d calls", len(s.Findings), s.Bad, s.Watched, s.Watched+len(s.Missed), s.Calls)
		if s.Part {
			line += ", stopped before its end"
		}
		if tools[line] == nil {
			found = append(found, line)
		}
		tools[line] = append(tools[line], s.Tool)
	})
	if err != nil {
		return ""
	}
	for i, line := range found {
		found[i] = strings.Join(tools[line], ", ") + ": " + line
		if len(tools[line]) > 1 {
			found[i] = strings.Join(tools[line], ", ") + ", each: " + line
		}
	}
	return strings.Join(found, "; ")
}

func planted(p published) string {
	var words []string
	for _, tool := range []string{"memcheck", "racecheck", "initcheck", "synccheck"} {
		var one struct{ Planted, Found []string }
		if p.decode("planted-"+tool, &one) {
			words = append(words, fmt.Sprintf("%s finds %d of %d", tool, len(one.Found), len(one.Planted)))
		}
	}
	return strings.Join(words, ", ")
}

func plain(p published) string {
	var all []struct {
		Op       string           `json:"op"`
		Pass     string           `json:"pass"`
		DType    string           `json:"dtype"`
		Dims     map[string]int64 `json:"dims"`
		MedianNS float64          `json:"median_ns"`
	}
	if !p.decode("plain", &all) {
		return ""
	}
	var words []string
	timed := steady(groups(p.records))
	for _, one := range all {
		where := shape(record{Op: one.Op, Dims: one.Dims})
		for _, g := range timed {
			r, there := g.best(eager)
			if there && g.op == one.Op && g.pass == one.Pass && g.dtype == one.DType && g.shape == where &&
				g.regime == "cold" {
				words = append(words, fmt.Sprintf("%s: %s against %s (%+.1f %%)", g.title(),
					report.Duration(r.MedianNS), report.Duration(one.MedianNS),
					(r.MedianNS/one.MedianNS-1)*100))
			}
		}
	}
	return strings.Join(words, ", ")
}

// large returns the verdicts on the cases of more than 2^31 elements.
func large(p published) string {
	var words []string
	for _, r := range p.records {
		if elements := float64(r.Dims["rows"]) * float64(r.Dims["cols"]); r.Op == "softmax" &&
			elements > math.MaxInt32 {
			words = append(words, r.Impl+" "+r.Status)
		}
	}
	slices.Sort(words)
	return strings.Join(slices.Compact(words), ", ")
}
