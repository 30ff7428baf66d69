package report

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/record"
)

// weightOf returns the CSS class of a status.
func weightOf(s op.Status) string { return s.Weight().String() }

// verdictSection shows the matrix of implementations and dtypes, one for each operator and pass.
func (p Page) verdictSection() htmlSection {
	s := htmlSection{ID: "verdicts", Title: "Verdicts", Filter: true}
	for _, lines := range groups(p.Records) {
		byDType := dtypes(lines)
		names := slices.Concat([]string{"implementation"}, byDType,
			[]string{">" + ofBoundName, "device", "note"})
		var rows []htmlRow
		for _, all := range byImplementation(lines) {
			rows = append(rows, p.matrixRow(all, byDType))
		}
		s.Blocks = append(s.Blocks, tableOf(lines[0].op+" "+lines[0].pass.String(), names, rows))
	}
	return s
}

// matrixRow returns the row of one implementation: its status in each dtype, then the sums over all of them.
func (p Page) matrixRow(all []group, byDType []string) htmlRow {
	together := joined(all)
	r := row(weightOf(together.status()), together.impl)
	for _, d := range byDType {
		cell := htmlCell{}
		for _, g := range all {
			if g.dtype == d {
				cell = htmlCell{Words: g.verdict(), Weight: weightOf(g.status())}
				if p.Linked {
					cell.Link = "/runs?" + url.Values{
						"op": {g.op}, "impl": {g.impl}, "dtype": {g.dtype}, "pass": {g.pass.String()},
					}.Encode()
				}
			}
		}
		r.Cells = append(r.Cells, cell)
	}
	for _, words := range []string{ofBoundWords(together.ofBound()), together.devices(), together.note()} {
		r.Cells = append(r.Cells, htmlCell{Words: clean(words)})
	}
	for _, c := range r.Cells {
		r.Search += " " + strings.ToLower(c.Words)
	}
	return r
}

// mostWrong limits the wrong runs that are shown in full, mostMaps the maps of errors that are drawn.
const (
	mostWrong = 40
	mostMaps  = 6
)

// wrongSection shows what is wrong, the smallest cases first, with maps of where.
func (p Page) wrongSection() htmlSection {
	s := htmlSection{ID: "wrong", Title: "What is wrong", Filter: true}
	bads := badRecords(p.Records)
	var rows []htmlRow
	for _, r := range bads[:min(len(bads), mostWrong)] {
		line := row("bad", r.Case.Op+"/"+r.Impl, r.Status.String(), r.Case.Pass.String(), r.Case.DType,
			caseWords(r.Case), wrongWords(r))
		line.Cells[1].Weight = "bad"
		line.Cells = append(line.Cells, p.runCell(r.ID))
		rows = append(rows, line)
	}
	if len(rows) == 0 {
		return s
	}
	if more := len(bads) - len(rows); more > 0 {
		s.Words = fmt.Sprintf("%d of %s; triad results list --bad shows all.", len(rows),
			counted(len(bads), "wrong run"))
	}
	s.Blocks = append(s.Blocks, tableOf("Wrong runs, the smallest cases first",
		[]string{"implementation", "status", "pass", "dtype", "case", "what is wrong", "run"}, rows))
	for _, f := range p.mapFigures() {
		s.Blocks = append(s.Blocks, htmlBlock{Figure: f.html()})
	}
	return s
}

// badRecords returns the wrong runs: the smallest case of each implementation first, then the rest.
func badRecords(records []record.Record) []record.Record {
	var bads []record.Record
	for _, r := range records {
		if r.Status.Weight() == op.Bad {
			bads = append(bads, r)
		}
	}
	slices.SortStableFunc(
		bads,
		func(a, b record.Record) int { return cmp.Compare(size(a.Case), size(b.Case)) },
	)
	seen := map[string]int{}
	turn := map[string]int{}
	for _, r := range bads {
		key := r.Case.Op + "/" + r.Impl
		turn[r.ID] = seen[key]
		seen[key]++
	}
	slices.SortStableFunc(bads, func(a, b record.Record) int { return turn[a.ID] - turn[b.ID] })
	return bads
}

// wrongWords describes what is wrong with a run.
func wrongWords(r record.Record) string {
	var words []string
	for _, v := range choicesFirst(r.Outputs) {
		if v.Status.Weight() == op.Bad {
			words = append(words, verdictWords(v))
		}
	}
	if len(words) == 0 {
		words = append(words, clean(r.Message))
	}
	if where := whereBeyond(r.Message, r.Where); where != "" {
		words = append(words, "at "+where)
	}
	return strings.Join(words, "; ")
}

// elementSection shows the worst element of each implementation, output and dtype, and the worst 16 of what
// is wrong.
func (p Page) elementSection() htmlSection {
	s := htmlSection{
		ID:     "elements",
		Title:  "Worst elements",
		Filter: true,
		Words: "Of each implementation the " +
			"element that came closest to what is rejected, or lies furthest beyond it.",
	}
	names := []string{
		"implementation", "dtype", "element", ">got", ">truth", ">lowest accepted", ">highest accepted",
		">" + ofBoundName, "case", "run",
	}
	for _, lines := range groups(p.Records) {
		var rows []htmlRow
		for _, g := range lines {
			r, v := g.worst()
			if v == nil {
				continue
			}
			rows = append(rows, p.elementRow(g.impl, r, *v))
		}
		if len(rows) > 0 {
			s.Blocks = append(
				s.Blocks,
				tableOf("Worst elements of "+lines[0].op+" "+lines[0].pass.String(), names,
					rows),
			)
		}
	}
	bads := badRecords(p.Records)
	for _, r := range bads[:min(len(bads), mostMaps)] {
		for _, v := range r.Outputs {
			if v.NWrong > 0 && v.Statistics != nil && len(v.Statistics.Worst) > 1 {
				s.Blocks = append(s.Blocks, htmlBlock{More: &htmlMore{
					Title: fmt.Sprintf(
						"The worst %d of %s, %s %s",
						len(v.Statistics.Worst),
						v.Name,
						r.Impl,
						r.Case.DType,
					),
					Blocks: []htmlBlock{worstTable(v)},
				}})
			}
		}
	}
	return s
}

// worst returns the run and output whose worst element says most: the one with the largest share of wrong
// elements, else the one with the least error margin.
func (g group) worst() (record.Record, *record.Verdict) {
	var of record.Record
	var found *record.Verdict
	least := math.Inf(1)
	for _, r := range g.records {
		for i, v := range r.Outputs {
			if v.Worst == nil || v.ErrorMargin == nil && v.NWrong == 0 || r.Status == op.StatusNoPower {
				continue
			}
			key := -float64(v.NWrong) / float64(max(1, v.NCompared))
			if v.NWrong == 0 {
				key = float64(*v.ErrorMargin)
			}
			if found == nil || key < least {
				of, found, least = r, &r.Outputs[i], key
			}
		}
	}
	return of, found
}

func (p Page) elementRow(impl string, r record.Record, v record.Verdict) htmlRow {
	weight := "good"
	if v.NWrong > 0 {
		weight = "bad"
	}
	e := v.Worst
	line := row(
		weight,
		impl,
		r.Case.DType,
		element(v.Name, e.Index),
		value(e.Got),
		value(e.Want),
		value(e.Low),
		value(e.High),
		ofBoundWords(ofBound(v)),
		caseWords(r.Case),
	)
	if v.NWrong > 0 {
		line.Cells[3].Weight = "bad"
	}
	line.Cells = append(line.Cells, p.runCell(r.ID))
	return line
}

// worstTable lists the elements that a verdict keeps, with truth and error bound before they are rounded.
func worstTable(v record.Verdict) htmlBlock {
	var rows []htmlRow
	for _, e := range v.Statistics.Worst {
		rows = append(rows, row("", element(v.Name, e.Index), value(e.Got), value(e.R), value(e.T),
			value(e.R-e.T), value(e.R+e.T)))
	}
	return tableOf("Worst elements of "+v.Name+"; an output is accepted where it rounds into the interval",
		[]string{"element", ">got", ">truth", ">error bound", ">from", ">to"}, rows)
}
