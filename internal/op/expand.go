package op

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Level is the extent of a plan. The zero value is the default.
type Level uint8

// The levels: a normal distribution on every shape and every distribution under every value of an attribute;
// a dozen cases for a first check; everything.
const (
	LevelDefault Level = iota
	LevelQuick
	LevelFull
)

// The most cases of one operator, dtype and pass.
const (
	maxQuick   = 14
	maxDefault = 62
)

// cpuElements is the largest number of elements that a case may have on a CPU.
const cpuElements = 1 << 31

// String returns "default", "quick" or "full".
func (l Level) String() string { return [...]string{"default", "quick", "full", "unknown"}[min(l, 3)] }

// Options selects the cases of a plan. Empty lists and maps select everything.
type Options struct {
	Level  Level
	DTypes []string         // of Spec.DTypes
	Passes []Pass           // Forward, Backward
	Dims   map[string]int64 // a dim not named keeps the values of the level's shapes, repeats removed
	// dims that an implementation takes as one: the level's shapes assign the value of the first to all of a
	// group
	Equal      [][]string
	Attributes map[string]string // an attribute not named takes its values in turn
	Device     string            // "cpu" or "gpu"; "" counts as "cpu"
	// Where one of these is given, the shapes of the level get only the named kinds (normal and contiguous
	// for the rest): with every dim and attribute given as well, that is a single case again. Upstreams and
	// Saved apply to backwards only.
	Distributions, Layouts, Upstreams, Saved []string
	Memory                                   int64 // bytes the device can hold; 0: not known
	// distributions that the level's shapes leave out, unless they are selected by name
	LeftOut []string
	// sizes in addition to the level's shapes, at which every distribution of the level is met
	Shapes []map[string]int64
	// permitted sources of saved tensors, "own" or "driver", where some backward takes them from there;
	// empty: both
	SavedFrom []string
	// the seed of the inputs; one that is neither 0 nor DefaultSeed changes attributes that seed random
	// numbers, unless they are given
	Seed uint64 `json:"-"`
}

// Plan is the expansion of a spec, in an order that is the same every time.
type Plan struct {
	Cases   []Case
	Skipped []Skipped
	Smaller []string // which bench points have smaller dims here than in the spec, a sentence each
}

// Skipped is a case of the level that the device cannot hold.
type Skipped struct {
	Case   Case
	Reason string
}

// Expand returns the cases of the options: passes outermost, then dtypes in the order of the spec. An unknown
// or impossible option is a *UsageError.
func (s *Spec) Expand(o Options) (Plan, error) {
	if o.Device == "" {
		o.Device = "cpu"
	}
	if err := s.checkOptions(o); err != nil {
		return Plan{}, err
	}
	sites, err := s.sites(o)
	if err != nil {
		return Plan{}, err
	}
	p := planner{spec: s, options: o, sites: sites, seen: map[string]bool{}}
	for _, pass := range []Pass{Forward, Backward} {
		if len(o.Passes) > 0 && !slices.Contains(o.Passes, pass) || !slices.Contains(s.Passes(), pass) {
			continue
		}
		for i, dtype := range s.DTypes {
			if (len(o.DTypes) == 0 || slices.Contains(o.DTypes, dtype)) &&
				slices.Contains(s.PassDTypes(pass), dtype) {
				if err := p.expand(pass, dtype, i); err != nil {
					return Plan{}, err
				}
			}
		}
	}
	if len(p.plan.Cases)+len(p.plan.Skipped) == 0 {
		return Plan{}, Usagef("%s: nothing fits dtype %v, pass %v, attributes %v: the backward has dtypes %s",
			s.Name, o.DTypes, o.Passes, o.Attributes,
			strings.Join(s.PassDTypes(Backward), ", "))
	}
	return p.plan, nil
}

func (s *Spec) checkOptions(o Options) error {
	for _, d := range o.DTypes {
		if !slices.Contains(s.DTypes, d) {
			return Usagef("%s: unknown dtype %q: want one of %s", s.Name, d, strings.Join(s.DTypes, ", "))
		}
	}
	for _, pass := range o.Passes {
		if !slices.Contains(s.Passes(), pass) {
			return Usagef("%s has no %s pass: want one of %v", s.Name, pass, s.Passes())
		}
	}
	if err := s.knowAttributes(slices.Sorted(maps.Keys(o.Attributes))); err != nil {
		return err
	}
	if o.Device != "cpu" && o.Device != "gpu" || o.Level > LevelFull {
		return fmt.Errorf("expand %s: device %q, level %s: want cpu or gpu, and a level", s.Name,
			o.Device, o.Level)
	}
	return nil
}

// site is a shape cases are made for.
type site struct {
	dims       map[string]int64
	attributes map[string]string // pinned
	all, quick bool
	device     string
	every      bool // it gets all distributions of the level
}

// sites lists the shapes of the level with the replacements of the options. A shape that breaks a condition
// of the spec only through a dim that is not given is left out; where none remains, the error of the first is
// returned.
func (s *Spec) sites(o Options) ([]site, error) {
	var list []site
	var refused error
	at := map[string]int{}
	var shapes []site
	for _, shape := range s.shapes {
		shapes = append(shapes, site{
			dims: shape.dims, attributes: shape.attributes, all: shape.all, quick: shape.quick,
			device: shape.device,
		})
	}
	for _, dims := range o.Shapes {
		shapes = append(shapes, site{dims: dims, attributes: map[string]string{}, quick: true, every: true})
	}
	for _, next := range shapes {
		if next.device == "gpu" && o.Level != LevelFull && len(o.Dims) == 0 {
			continue
		}
		next.dims, next.attributes = maps.Clone(next.dims), maps.Clone(next.attributes)
		for _, group := range o.Equal {
			for _, dim := range group[1:] {
				next.dims[dim] = next.dims[group[0]]
			}
		}
		s.ReplaceSizes(next.dims, o.Dims)
		s.reseed(next.attributes, o.Seed)
		maps.Copy(next.attributes, o.Attributes)
		if len(o.Dims) > 0 {
			next.device = "" // the mark spoke of the size that was there
		}
		dims, attributes, err := s.Resolve(next.dims, next.attributes)
		if err != nil {
			if refused == nil {
				refused = err
			}
			continue
		}
		key := fmt.Sprint(dims, attributes, len(next.attributes))
		if i, ok := at[key]; ok {
			list[i].all = list[i].all || next.all
			list[i].quick = list[i].quick || next.quick
			list[i].every = list[i].every || next.every
			continue
		}
		at[key] = len(list)
		list = append(list, next)
	}
	if len(list) == 0 {
		return nil, refused
	}
	return mark(list), nil
}

// mark ensures that some shape takes the distributions and some shape is quick.
func mark(list []site) []site {
	if !slices.ContainsFunc(list, func(x site) bool { return x.all }) {
		list[0].all = true
	}
	if !slices.ContainsFunc(list, func(x site) bool { return x.quick }) {
		list[0].quick = true
	}
	return list
}

// planner collects the cases of one Expand.
type planner struct {
	spec    *Spec
	options Options
	sites   []site
	plan    Plan
	seen    map[string]bool // keys
	count   int             // of cases of this pass and dtype
	turn    int             // attributes take their values in turn
	saver   int             // saved tensors come from the driver and from the implementation in turn
}

// draft is a case before its attributes and its saved tensors are chosen.
type draft struct {
	at                             site
	distribution, layout, upstream string
	saved                          string // where selected by name
	every                          bool   // every combination of attributes, else the next one in turn
	cover                          bool   // as few combinations as show every value of every attribute
	both                           bool   // saved tensors of both kinds, else in turn
}

// expand makes the cases of one pass and dtype. Dtypes begin at different combinations, so that one covers
// what another leaves out.
func (p *planner) expand(pass Pass, dtype string, dtypeIndex int) error {
	p.count, p.turn, p.saver = 0, dtypeIndex, dtypeIndex
	for _, d := range p.drafts(pass, dtypeIndex) {
		if err := p.add(pass, dtype, d); err != nil {
			return err
		}
	}
	return nil
}

// drafts lists the drafts of the level: normal data on its shapes, distributions, other upstream gradients,
// layouts.
func (p *planner) drafts(pass Pass, dtypeIndex int) []draft {
	level := p.options.Level
	full := level == LevelFull
	var normal, marked []site
	for _, x := range p.sites {
		if level != LevelQuick || x.quick {
			normal = append(normal, x)
		}
		if x.all {
			marked = append(marked, x)
		}
	}
	distributions := p.spec.Check.Distributions[1:]
	layouts := p.spec.Layouts()[1:]
	if level == LevelQuick {
		distributions = p.spec.Check.Quick
		layouts = quickLayouts(pass, layouts, dtypeIndex)
		if pass == Backward { // leaves room for the upstream gradients
			normal = p.spec.ends(normal)
			distributions = distributions[:min(len(distributions), 2)]
		}
	}
	if p.options.filtered() {
		return p.named(pass, normal)
	}
	distributions = slices.DeleteFunc(slices.Clone(distributions),
		func(name string) bool { return slices.Contains(p.options.LeftOut, name) })
	distributions, long := ofLongRows(distributions)
	few := len(p.spec.combinations(p.options.Attributes)) <= 2
	var list []draft
	for _, x := range normal {
		list = append(list, draft{at: x, distribution: "normal", every: full && (few || x.all), both: full})
	}
	list = append(list, spread(marked, distributions, full, func(x site, name string) draft {
		return draft{at: x, distribution: name, cover: level != LevelQuick}
	})...)
	for _, x := range p.sites {
		if x.every {
			list = append(list, spread([]site{x}, distributions, true, func(x site, name string) draft {
				return draft{at: x, distribution: name}
			})...)
		}
	}
	if pass == Backward {
		kinds := p.spec.UpstreamKinds()
		list = append(list, spread(marked, kinds, false, func(x site, name string) draft {
			return draft{at: x, distribution: "normal", upstream: name, both: full}
		})...)
		list = append(list, p.upstreamLayouts(marked, dtypeIndex)...)
	}
	for _, layout := range layouts {
		list = append(list, draft{
			at: tallest(marked, p.spec.Dims[0].Name), distribution: "normal",
			layout: layout, both: full,
		})
	}
	return append(list, p.inLongRows(marked, long)...)
}

// filtered reports whether kinds of data are selected by name.
func (o Options) filtered() bool {
	return len(o.Distributions)+len(o.Layouts)+len(o.Upstreams)+len(o.Saved) > 0
}

// named lists the drafts of the kinds of data that are selected by name, on every shape of the level.
func (p *planner) named(pass Pass, shapes []site) []draft {
	or := func(list []string, otherwise string) []string {
		if len(list) > 0 {
			return list
		}
		return []string{otherwise}
	}
	upstreams, saved := []string{""}, []string{""}
	if pass == Backward {
		upstreams, saved = or(p.options.Upstreams, "normal"), or(p.options.Saved, "")
	}
	var list []draft
	for _, x := range shapes {
		for _, distribution := range or(p.options.Distributions, "normal") {
			for _, layout := range or(p.options.Layouts, "contiguous") {
				for _, upstream := range upstreams {
					for _, from := range saved {
						list = append(list, draft{
							at: x, distribution: distribution, layout: layout,
							upstream: upstream, saved: from, every: true, both: true,
						})
					}
				}
			}
		}
	}
	return list
}

// add makes the cases of one draft.
func (p *planner) add(pass Pass, dtype string, d draft) error {
	pins := maps.Clone(d.at.attributes)
	for name, v := range p.spec.Check.Pins[d.distribution] {
		value := wordOf(v)
		if asked, ok := pins[name]; ok && asked != value {
			return nil // the distribution does not apply to the request
		}
		pins[name] = value
	}
	combinations := p.spec.combinations(pins)
	switch {
	case d.cover:
		combinations = covering(combinations, p.turn)
		p.turn++
	case !d.every:
		n := len(combinations)
		combinations = combinations[p.turn*stride(n)%n:][:1]
		p.turn++
	}
	saved := []string{""}
	if pass == Backward && p.spec.Backward.Chained {
		saved = []string{"own", "driver"}
		if len(p.options.SavedFrom) > 0 {
			saved = p.options.SavedFrom
		}
		if d.saved != "" {
			saved = []string{d.saved}
		} else if !d.both {
			saved = saved[p.saver%len(saved):][:1]
			p.saver++
		}
	}
	for _, attributes := range combinations {
		for k, v := range pins {
			attributes[k] = v
		}
		for _, from := range saved {
			c, err := p.spec.NewCase(Case{
				Pass: pass, DType: dtype, Layout: d.layout,
				Distribution: d.distribution, Upstream: d.upstream, Saved: from,
			},
				d.at.dims, attributes)
			if err != nil {
				return err
			}
			if err := p.place(c, d.at.device); err != nil {
				return err
			}
		}
	}
	return nil
}

// covering picks, among all combinations of attribute values, as many as the largest number of values of an
// attribute, so that every value of every attribute occurs; another turn pairs the values differently.
func covering(combinations []map[string]string, turn int) []map[string]string {
	values, most := map[string][]string{}, 1
	for _, c := range combinations {
		for name, v := range c {
			if !slices.Contains(values[name], v) {
				values[name] = append(values[name], v)
				most = max(most, len(values[name]))
			}
		}
	}
	picked := make([]map[string]string, most)
	for i := range picked {
		picked[i] = map[string]string{}
		for k, name := range slices.Sorted(maps.Keys(values)) {
			picked[i][name] = values[name][(i+turn*(k+1))%len(values[name])]
		}
	}
	return picked
}

// stride returns a step by which turns visit all of n combinations and change more than the last attribute
// from one to the next.
func stride(n int) int {
	for step := max(n/2, 1); ; step++ {
		a, b := step, n
		for b != 0 {
			a, b = b, a%b
		}
		if a == 1 {
			return step
		}
	}
}

// place appends a case that is not there yet, or records why the device cannot hold it.
func (p *planner) place(c Case, device string) error {
	if key := c.Key(); p.seen[key] {
		return nil
	} else {
		p.seen[key] = true
	}
	elements, bytes, err := p.spec.Footprint(c)
	if err != nil {
		return err
	}
	if p.options.Level != LevelFull && p.count >= maxDefault {
		return nil
	}
	p.count++
	reason := ""
	switch {
	case p.options.Device == "cpu" && device == "gpu":
		reason = "the shape is judged on a GPU only"
	case p.options.Device == "cpu" && elements > cpuElements:
		reason = fmt.Sprintf("%d elements: a CPU takes at most 2^31", elements)
	case p.options.Memory > 0 && bytes > p.options.Memory:
		reason = fmt.Sprintf("needs %d bytes, the device holds %d", bytes, p.options.Memory)
	}
	if reason != "" {
		p.plan.Skipped = append(p.plan.Skipped, Skipped{c, reason})
		return nil
	}
	p.plan.Cases = append(p.plan.Cases, c)
	return nil
}

// Footprint counts the elements and bytes of all tensors of a case's pass.
func (s *Spec) Footprint(c Case) (elements, bytes int64, err error) {
	inputs, outputs, err := s.passTensors(c)
	if err != nil {
		return 0, 0, err
	}
	types, err := s.types(slices.Concat(inputs, outputs), c)
	if err != nil {
		return 0, 0, err
	}
	for _, t := range types {
		elements += t.Elements()
		bytes += t.Elements() * t.DType.Size()
	}
	return elements, bytes, nil
}
