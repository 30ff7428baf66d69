package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/record"
)

// JSONLines writes each value as one line.
func JSONLines[T any](w io.Writer, all []T) error {
	for _, v := range all {
		if err := JSON(w, v); err != nil {
			return err
		}
	}
	return nil
}

// JSON writes one value as one line: a record, a record.Run, or any plain struct.
func JSON(w io.Writer, v any) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false) // < and > stand in formulas and messages
	if err := encoder.Encode(v); err != nil {
		return err
	}
	return write(w, line.String())
}

// List writes records as a table, one line each; total is their number without the limit.
func List(w io.Writer, style Style, records []record.Record, total int) error {
	if len(records) == 0 {
		return write(w, "No run fits.\n")
	}
	rows := make([][]string, len(records))
	for i, r := range records {
		g := group{records: records[i : i+1]}
		errorMargin, ulp := g.measures()
		rows[i] = []string{
			r.ID, minuteOf(r.Started), r.Case.Op, r.Case.Pass.String(), r.Case.DType,
			r.Impl, style.status(r.Status),
			figure(errorMargin), figure(ulp), r.Device, caseWords(r.Case),
		}
	}
	header := columns("id", "?started", "op", "pass", "dtype", "implementation", "status", "?>headroom",
		"?>max ulp", "?device", "case")
	if slices.ContainsFunc(records, func(r record.Record) bool { return r.Backend == "mine" }) {
		// the contents distinguish versions of a user's file
		header = append(header, columns("contents")...)
		for i, r := range records {
			rows[i] = append(rows[i], r.Source[:min(len(r.Source), 8)])
		}
	}
	if err := style.Table(w, "", header, rows); err != nil {
		return err
	}
	if total > len(records) {
		return write(w, Shown(len(records), total)+"\n")
	}
	return nil
}

// Shown returns the sentence below a list that leaves runs out.
func Shown(n, total int) string {
	return fmt.Sprintf("%d of %s shown, newest first; --limit shows more.", n, counted(total, "run"))
}

// Show writes everything about one run, and the command that repeats it.
func Show(w io.Writer, style Style, run record.Run) error {
	w = style.Wrap(w)
	r, s := run.Record, run.Session
	var text strings.Builder
	fmt.Fprintf(&text, "%s  %s/%s %s %s\n\n", style.status(r.Status), r.Case.Op, r.Impl,
		r.Case.Pass, r.Case.DType)
	fact := func(name, words string) {
		if words != "" {
			fmt.Fprintf(&text, "  %s%s\n", style.paint(faint, fmt.Sprintf("%-15s", name)), words)
		}
	}
	fact("message", clean(r.Message))
	origin(r, fact)
	fact("launches", fmt.Sprint(r.Launches))
	fact("harness time", fmt.Sprintf("%v (not the kernel's)", r.Wall.Round(time.Microsecond)))
	if r.PeakBytes > 0 {
		fact("peak memory", fmt.Sprintf("%.1f MiB on the device", float64(r.PeakBytes)/(1<<20)))
	}
	for _, t := range r.Timings {
		fact("timed, "+t.Regime, timingWords(t))
		for _, k := range t.Kernels {
			fact("  kernel", launchWords(k))
		}
	}
	fact("run", r.ID+", started "+secondOf(r.Started))
	fact("session", fmt.Sprintf("%s: triad %s", s.ID, clean(record.CommandLine(s.Command))))
	ended, _, _ := strings.Cut(s.InternalError, "\n")
	fact("ended by", clean(ended))
	fact("triad", strings.TrimSpace(s.Version+" "+s.Commit))
	fact("machine", machineWords(s.Machine))
	fact("toolchain", toolchainWords(s.Toolchain))
	if err := write(w, text.String()); err != nil {
		return err
	}
	if err := outputs(w, style, r.Outputs); err != nil {
		return err
	}
	if err := others(w, style, r.Impl, run.Differences); err != nil {
		return err
	}
	if err := smallestCase(w, style, r.Diagnosis); err != nil {
		return err
	}
	if r.LogTail != "" {
		if err := write(w, "\n  end of the worker's log\n"+cleanLines(r.LogTail, "    ")); err != nil {
			return err
		}
	}
	return write(w, "\n  Run it again on the same bits:\n    "+clean(record.Repeat(r, s.Added))+
		style.InDatabase+"\n")
}

// outputs writes the verdict of each output, and below them the elements that decide.
func outputs(w io.Writer, style Style, verdicts []record.Verdict) error {
	if len(verdicts) == 0 {
		return nil
	}
	var rows [][]string
	details := ""
	for _, v := range verdicts {
		rows = append(rows, []string{
			v.Name, style.status(v.Status), v.Gate, fmt.Sprintf("%d/%d", v.NCompared, v.N),
			fmt.Sprint(v.NWrong),
			figure(v.ErrorMargin), figure(v.ULPMax),
		})
		switch {
		case v.Worst != nil && v.NWrong == 0 && v.Gate != "G0":
			details += fmt.Sprintf("  closest call: %s is %s, want %s, accepted is %s to %s\n",
				element(v.Name, v.Worst.Index), value(v.Worst.Got),
				value(v.Worst.Want), value(v.Worst.Low), value(v.Worst.High))
		case v.Worst != nil || v.Message != "":
			details += "  " + verdictWords(v) + "\n"
		}
		details += sampleWords(v) + statisticsWords(v)
	}
	if err := write(w, "\n"); err != nil {
		return err
	}
	header := columns("output", "status", "gate", ">compared", ">wrong", ">headroom", ">max ulp")
	if err := style.Table(w, "  ", header, rows); err != nil {
		return err
	}
	return write(w, details)
}

// sampleWords returns the share of an output that was compared element by element; "" if all of it was.
func sampleWords(v record.Verdict) string {
	if v.NCompared == 0 || v.NCompared >= v.N {
		return ""
	}
	return fmt.Sprintf("  %s was judged by sample: %.3g %% of its elements were compared one by one\n",
		v.Name, 100*float64(v.NCompared)/float64(v.N))
}

// others writes how far every other implementation of the session lies from this one on the same case.
func others(w io.Writer, style Style, impl string, differences []record.Difference) error {
	if len(differences) == 0 {
		return nil
	}
	var rows [][]string
	for _, d := range differences {
		other := d.A
		if other == impl {
			other = d.B
		}
		equal := "bitwise equal"
		switch {
		case !d.Bitwise && d.NDifferent == 0:
			equal = "equal but for the bits of zeros or NaN"
		case !d.Bitwise:
			equal = judge.ElementsThat(d.NDifferent, d.N, "differs", "differ")
			if d.Worst != nil {
				equal += fmt.Sprintf(", most at %s: %s and %s", element(d.Output, d.Worst.Index),
					value(d.Worst.A), value(d.Worst.B))
			}
		}
		rows = append(rows, []string{other, d.Output, figure(d.ULPMax), equal})
	}
	if err := write(w, "\n"); err != nil {
		return err
	}
	return style.Table(w, "  ", columns("against", "output", ">ulp", "difference"), rows)
}

func dtypeWords(dtypes record.Members[op.DType]) string {
	words := make([]string, len(dtypes))
	for i, d := range dtypes {
		words[i] = d.Name + " " + d.Value.String()
	}
	return strings.Join(words, ", ")
}

func buildWords(b *record.Build) string {
	if b == nil {
		return ""
	}
	words := clean(b.Compiler + " " + strings.Join(b.Flags, " "))
	if b.Cached {
		return words + " (from the cache)"
	}
	return fmt.Sprintf("%s (%.1f s)", words, b.Seconds)
}

func machineWords(m record.Machine) string {
	words := fmt.Sprintf("%s, %d cores, %.0f GiB, %s %s %s", m.CPU, m.Cores, float64(m.MemoryBytes)/(1<<30),
		m.OS, m.Kernel, m.Arch)
	if m.GPU != "" {
		words += fmt.Sprintf("; %s, %.0f GiB, driver %s", m.GPU, float64(m.GPUMemoryBytes)/(1<<30),
			m.GPUDriver)
	}
	return clean(words)
}

func toolchainWords(t record.Toolchain) string {
	var words []string
	for name, version := range t {
		words = append(words, name+" "+version)
	}
	slices.Sort(words)
	return clean(strings.Join(words, ", "))
}

// origin calls fact with the name and value of each fact that determines a run, in display order.
func origin(r record.Record, fact func(name, words string)) {
	fact("where", whereWords(r.Where))
	fact("case", caseWords(r.Case)+" (key "+r.Case.Key()+")")
	fact("tensors", dtypeWords(r.DTypes))
	fact("layout", r.Case.Layout)
	fact("seed", fmt.Sprint(r.Seed))
	fact("contract", r.Contract)
	fact("device", r.Device)
	fact("source", r.Source)
	fact("flags", clean(r.Flags))
	fact("build", buildWords(r.Build))
}
