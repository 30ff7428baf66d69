package native

import (
	"encoding/json"
	"strings"

	"triad/internal/catalog"
	"triad/internal/op"
)

// expansion holds the arguments of Expand; every field may be left out.
type expansion struct {
	Level         string            `json:"level"` // "quick", "default", "full"
	DTypes        []string          `json:"dtypes"`
	Passes        []op.Pass         `json:"passes"`
	Dims          map[string]int64  `json:"dims"`
	Attributes    map[string]string `json:"attributes"`
	Device        string            `json:"device"` // "cpu", "gpu"
	Distributions []string          `json:"distributions"`
	Layouts       []string          `json:"layouts"`
	Upstreams     []string          `json:"upstreams"`
	Saved         []string          `json:"saved"`
	Memory        int64             `json:"memory_bytes"`
}

// plan is the JSON of op.Plan.
type plan struct {
	Cases   []caseDetail `json:"cases"`
	Skipped []skipped    `json:"skipped"`
}

type skipped struct {
	Case   op.Case `json:"case"`
	Reason string  `json:"reason"`
}

// caseDetail is a case with what follows from it.
type caseDetail struct {
	Case    op.Case      `json:"case"`
	Key     string       `json:"key"`
	Inputs  []tensorType `json:"inputs"`
	Outputs []tensorType `json:"outputs"`
	Bytes   int64        `json:"bytes"` // that the pass must at least move
	Flops   int64        `json:"flops"`
}

type tensorType struct {
	Name     string   `json:"name"`
	DType    op.DType `json:"dtype"`
	Shape    []int64  `json:"shape"`
	Optional bool     `json:"optional"`
}

// Expand returns the cases of an operator: options is a JSON object {"level", "dtypes", "passes", "dims",
// "attributes", "device", ...}, and the result {"cases", "skipped"}.
func Expand(name, options string) (text string, err error) {
	defer guard("Expand", &err)()
	enter("Expand")
	o, err := catalog.Find(name)
	if err != nil {
		return "", err
	}
	var asked expansion
	if err := readStrict(options, &asked); err != nil {
		return "", usagef("%s: read options: %v", name, err)
	}
	level, ok := map[string]op.Level{
		"": op.LevelDefault, "default": op.LevelDefault, "quick": op.LevelQuick,
		"full": op.LevelFull,
	}[asked.Level]
	if !ok {
		return "", usagef("%s: unknown level %q: want quick, default or full", name, asked.Level)
	}
	if asked.Device != "" && asked.Device != "cpu" && asked.Device != "gpu" {
		return "", usagef("%s: unknown device %q: want cpu or gpu", name, asked.Device)
	}
	spec := o.Spec
	if !spec.GivesImplied(asked.Dims) { // functions of callers are judged as users' files are
		spec = spec.WithoutImplied()
	}
	got, err := spec.Expand(op.Options{
		Level: level, DTypes: asked.DTypes, Passes: asked.Passes, Dims: asked.Dims,
		Attributes: asked.Attributes,
		Device:     asked.Device, Distributions: asked.Distributions, Layouts: asked.Layouts,
		Upstreams: asked.Upstreams, Saved: asked.Saved,
		Memory: asked.Memory,
	})
	if err != nil {
		return "", err
	}
	p := plan{Cases: make([]caseDetail, len(got.Cases)), Skipped: make([]skipped, len(got.Skipped))}
	for i, c := range got.Cases {
		if p.Cases[i], err = detail(o.Spec, c); err != nil {
			return "", err
		}
	}
	for i, s := range got.Skipped {
		p.Skipped[i] = skipped{s.Case, s.Reason}
	}
	return asJSON(p)
}

// Case completes one case, given as JSON with any of its fields left out, and returns it with its key and its
// tensors.
func Case(name, fields string) (text string, err error) {
	defer guard("Case", &err)()
	enter("Case")
	o, err := catalog.Find(name)
	if err != nil {
		return "", err
	}
	asked := struct {
		Op           string            `json:"op"`
		Pass         string            `json:"pass"`
		DType        string            `json:"dtype"`
		Dims         map[string]int64  `json:"dims"`
		Attributes   map[string]string `json:"attributes"`
		Layout       string            `json:"layout"`
		Distribution string            `json:"distribution"`
		Upstream     string            `json:"upstream"`
		Saved        string            `json:"saved"`
	}{Pass: "forward", DType: o.Spec.DTypes[0]}
	if err := readStrict(fields, &asked); err != nil {
		return "", usagef("%s: read case: %v", name, err)
	}
	c := op.Case{
		DType: asked.DType, Layout: asked.Layout, Distribution: asked.Distribution,
		Upstream: asked.Upstream, Saved: asked.Saved,
	}
	if err := c.Pass.UnmarshalText([]byte(asked.Pass)); err != nil {
		return "", usagef("%s: %v", name, err)
	}
	if c.Pass == op.Backward && c.Saved == "" && o.Spec.Backward != nil && o.Spec.Backward.Chained {
		c.Saved = "own"
	}
	if c, err = o.Spec.NewCase(c, asked.Dims, asked.Attributes); err != nil {
		return "", err
	}
	d, err := detail(o.Spec, c)
	if err != nil {
		return "", err
	}
	return asJSON(d)
}

func detail(s *op.Spec, c op.Case) (caseDetail, error) {
	d := caseDetail{Case: c, Key: c.Key()}
	inputs, err := s.Inputs(c)
	if err != nil {
		return d, err
	}
	outputs, err := s.Outputs(c)
	if err != nil {
		return d, err
	}
	d.Inputs, d.Outputs = types(inputs), types(outputs)
	d.Bytes, d.Flops, err = s.Cost(c)
	return d, err
}

func types(list []op.TensorType) []tensorType {
	out := make([]tensorType, len(list))
	for i, t := range list {
		out[i] = tensorType{t.Name, t.DType, t.Shape, t.Optional}
	}
	return out
}

// readStrict reads JSON in which every field is known; "" is an empty object.
func readStrict(text string, into any) error {
	if text == "" {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}
