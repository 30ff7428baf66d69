package op

import (
	"bytes"
	"errors"
	"fmt"
	"go/token"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

const (
	maxShapes   = 32      // of [check]
	maxAllMarks = 3       // shapes on which every distribution occurs
	maxSpecSize = 1 << 20 // bytes of a file
)

// Load reads a spec and checks it: no unknown key, every name declared, every expression well formed, every
// shape of [check] and [[bench]] a case that its own conditions allow. file is used in the messages.
func Load(file string, text []byte) (*Spec, error) {
	return load(file, text, func(*Spec) {}, (*Spec).proveShapes)
}

// LoadProven reads a spec as Load does, but tries no shape as a case, which takes four times as long as all
// else. It is for the catalog, whose tests load every spec.
func LoadProven(file string, text []byte) (*Spec, error) {
	return load(file, text, func(*Spec) {}, func(*Spec) error { return nil })
}

// load reads a spec, has it completed, and checks it.
func load(file string, text []byte, complete func(*Spec), prove func(*Spec) error) (*Spec, error) {
	if len(text) > maxSpecSize {
		return nil, fmt.Errorf("read spec %s: %d bytes: want at most %d", file, len(text), maxSpecSize)
	}
	s := new(Spec)
	if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(s); err != nil {
		return nil, fmt.Errorf("read spec %s%w", file, located(err, reflect.TypeFor[Spec]()))
	}
	complete(s)
	err := s.compile()
	if err == nil {
		err = prove(s)
	}
	if err != nil {
		return nil, fmt.Errorf("read spec %s%s: %w", file, placeOf(err, text), err)
	}
	if !slices.ContainsFunc(s.Dims, func(d DimSpec) bool { return d.Implied }) {
		return s, nil
	}
	s.plain, err = load(file, text, func(plain *Spec) {
		complete(plain)
		plain.dropImplied()
	}, prove)
	return s, err
}

// located puts the line first: ":12:3: unknown key ...". file is the type that a file is read into.
func located(err error, file reflect.Type) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		e := strict.Errors[0]
		line, column := e.Position()
		return fmt.Errorf(":%d:%d: unknown key %s: want of %s", line, column, strings.Join(e.Key(), "."),
			strings.Join(keysBeside(file, e.Key()), ", "))
	}
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		line, column := decode.Position()
		return fmt.Errorf(":%d:%d: %s", line, column, strings.TrimPrefix(decode.Error(), "toml: "))
	}
	return fmt.Errorf(": %w", err)
}

// compile checks the parts in the order of the file.
func (s *Spec) compile() error {
	steps := []func() error{
		s.compileHead, s.compileDims, s.compileAttributes, s.compileTensors, s.compileBackward,
		s.compileContract,
		s.compileFormulas, s.compileCheck, s.compileUsage,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

var identifier = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// reserved are words with another meaning in the place of names of dims and attributes.
var reserved = []string{"all", "quick", "device", "size", "ceildiv", "min", "max", "sqrt"}

// CheckOperatorName returns an error that explains why a name cannot be an operator's.
func CheckOperatorName(name string) error { return checkName("name", name, map[string]bool{}) }

func checkName(what, name string, taken map[string]bool) error {
	switch {
	case !identifier.MatchString(name) || token.IsKeyword(name):
		return fmt.Errorf("%s %q: want a name of lower-case letters, digits and _", what, name)
	case slices.Contains(reserved, name):
		return fmt.Errorf("%s %q: the name is taken by the format", what, name)
	case taken[name]:
		return fmt.Errorf("%s %q: the name occurs twice", what, name)
	}
	taken[name] = true
	return nil
}

func (s *Spec) compileHead() error {
	if err := checkName("name", s.Name, map[string]bool{}); err != nil {
		return err
	}
	if s.Summary == "" || s.Formula == "" || s.Source == "" {
		return errors.New("summary, formula and source: want a text for each")
	}
	called := map[string]bool{s.Name: true}
	for _, name := range s.AlsoCalled {
		if err := checkName("also_called", name, called); err != nil {
			return err
		}
	}
	for _, name := range s.NearestTo {
		if err := checkName("nearest_to", name, called); err != nil {
			return err
		}
	}
	if s.Backward != nil {
		for _, d := range s.Backward.DTypes {
			if !slices.Contains(s.DTypes, d) {
				return fmt.Errorf("backward.dtypes: %q is none of %v", d, s.DTypes)
			}
		}
	}
	for _, a := range s.Absent {
		if a.Room != "cuda" && a.Room != "triton" || a.Reason == "" {
			return fmt.Errorf("absent: room %q, reason %q: want cuda or triton, and a reason",
				a.Room, a.Reason)
		}
	}
	return checkDTypes(s.DTypes)
}

func checkDTypes(names []string) error {
	if len(names) == 0 {
		return errors.New("dtypes: want at least one")
	}
	seen := map[string]bool{}
	for _, name := range names {
		parts := strings.Split(name, "_")
		if len(parts) > 2 || seen[name] {
			return fmt.Errorf("dtypes: %q: want each once, of one or two parts", name)
		}
		seen[name] = true
		for _, part := range parts {
			if _, err := ParseDType(part); err != nil {
				return fmt.Errorf("dtypes: %w", err)
			}
		}
	}
	return nil
}

// isDim reports whether a name is a dim; isNumber, whether integer expressions may use it: a dim, or an
// attribute that is not a float.
func (s *Spec) isDim(name string) bool {
	return slices.ContainsFunc(s.Dims, func(d DimSpec) bool { return d.Name == name })
}

func (s *Spec) isNumber(name string) bool {
	return s.isDim(name) || slices.ContainsFunc(s.Attributes,
		func(a AttributeSpec) bool { return a.Name == name && a.Type != "float" })
}

func (s *Spec) compileDims() error {
	taken := map[string]bool{}
	for _, d := range s.Dims {
		if err := checkName("dim", d.Name, taken); err != nil {
			return err
		}
	}
	for _, a := range s.Attributes {
		if err := checkName("attribute", a.Name, taken); err != nil {
			return err
		}
	}
	if len(s.Dims) == 0 {
		return errors.New("dims: want at least one")
	}
	for i := range s.Dims {
		d := &s.Dims[i]
		if d.Default == "" {
			continue
		}
		var err error
		if d.value, err = ParseExpression(d.Default, s.isNumber, false); err != nil {
			return fmt.Errorf("default of dim %s: %w", d.Name, err)
		}
		for _, name := range d.value.names {
			if at := slices.IndexFunc(s.Dims, func(o DimSpec) bool { return o.Name == name }); at >= 0 &&
				s.Dims[at].Default != "" {
				return fmt.Errorf("default of dim %s: dim %s has a default itself", d.Name, name)
			}
		}
	}
	return s.compileImplied()
}

func (s *Spec) compileAttributes() error {
	for i := range s.Attributes {
		if err := s.Attributes[i].compile(s.isDim); err != nil {
			return fmt.Errorf("attribute %s: %w", s.Attributes[i].Name, err)
		}
	}
	return nil
}

func (a *AttributeSpec) compile(isDim func(string) bool) error {
	if !slices.Contains([]string{"bool", "int", "float", "enum"}, a.Type) {
		return fmt.Errorf("type %q: want bool, int, float or enum", a.Type)
	}
	if (a.Type == "enum") != (len(a.Values) > 0) {
		return fmt.Errorf("type %q with values %v: an enum, and nothing else, has values", a.Type, a.Values)
	}
	if a.Draws && a.Type != "int" {
		return fmt.Errorf("type %q draws: only an int does", a.Type)
	}
	if a.Positive && a.Type != "float" {
		return fmt.Errorf("type %q is positive: only a float is", a.Type)
	}
	if (a.Least != nil || a.Below != nil) && a.Type != "float" && a.Type != "int" {
		return fmt.Errorf("type %q has bounds: only an int or a float has", a.Type)
	}
	if a.Default == nil {
		return errors.New("default: want one")
	}
	text := wordOf(a.Default)
	switch a.Type {
	case "enum":
		seen := map[string]bool{}
		for _, v := range a.Values {
			if err := checkName("value", v, seen); err != nil {
				return err
			}
		}
		a.word = text
		_, err := a.parse(text)
		return err
	case "bool":
		a.word = text
		_, err := a.parse(text)
		return err
	default:
		if f, ok := a.Default.(float64); ok && !(math.Abs(f) <= math.MaxFloat32) {
			return fmt.Errorf("default %v: want a finite number", f)
		}
		var err error
		a.value, err = ParseExpression(text, isDim, a.Type == "float")
		return err
	}
}

// wordOf returns a TOML value as a user would type it.
func wordOf(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// parse reads a value of the attribute. Floats are rounded to fp32, so that kernel and truth see one number.
func (a *AttributeSpec) parse(text string) (Attr, error) {
	switch a.Type {
	case "bool":
		if text == "true" || text == "false" {
			return Attr{Name: a.Name, Number: float64(truth(text == "true")), Text: text}, nil
		}
		return Attr{}, fmt.Errorf("%s = %q: want true or false", a.Name, text)
	case "enum":
		if at := slices.Index(a.Values, text); at >= 0 {
			return Attr{Name: a.Name, Number: float64(at), Text: text}, nil
		}
		return Attr{}, fmt.Errorf("%s = %q: want one of %s", a.Name, text, strings.Join(a.Values, ", "))
	case "int":
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil || v > 1<<53 || v < -1<<53 {
			return Attr{}, fmt.Errorf("%s = %q: want an integer of at most 2^53", a.Name, text)
		}
		return a.integer(v), a.within(text, float64(v))
	default:
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(math.Abs(v) <= math.MaxFloat32) {
			return Attr{}, fmt.Errorf("%s = %q: want a finite number of fp32", a.Name, text)
		}
		if a.Positive && !(float32(v) > 0) {
			return Attr{}, fmt.Errorf("%s = %q: want a number of fp32 above 0", a.Name, text)
		}
		return a.float(v), a.within(text, float64(float32(v)))
	}
}

// within returns an error unless a value lies within the attribute's bounds, those of floats as fp32 has
// them.
func (a *AttributeSpec) within(text string, v float64) error {
	if (a.Least == nil || v >= *a.Least) && (a.Below == nil || v < *a.Below) {
		return nil
	}
	return fmt.Errorf("%s = %q: want %s", a.Name, text, a.Bounds())
}

// Bounds describes the permitted values: "a number of at least 0 and below 1".
func (a *AttributeSpec) Bounds() string {
	text := map[string]string{"int": "an integer", "float": "a number"}[a.Type]
	if a.Least != nil {
		text += fmt.Sprintf(" of at least %v", *a.Least)
	}
	if a.Least != nil && a.Below != nil {
		text += " and"
	}
	if a.Below != nil {
		text += fmt.Sprintf(" below %v", *a.Below)
	}
	return text
}

func (a *AttributeSpec) integer(v int64) Attr {
	return Attr{Name: a.Name, Number: float64(v), Text: strconv.FormatInt(v, 10)}
}

func (a *AttributeSpec) float(v float64) Attr {
	f := float32(v)
	return Attr{Name: a.Name, Number: float64(f), Text: strconv.FormatFloat(float64(f), 'g', -1, 32)}
}

// compileContract rejects undefined contracts and dtypes without one.
func (s *Spec) compileContract() error {
	known := func(name string) error {
		names := make([]string, len(Contracts))
		for i, c := range Contracts {
			names[i] = c.Name
		}
		if !slices.Contains(names, name) {
			return fmt.Errorf("contract %q: want one of %s", name, strings.Join(names, ", "))
		}
		return nil
	}
	for _, d := range s.DTypes {
		if err := known(s.Contract.Default[d]); err != nil {
			return fmt.Errorf("contract.default of %s: %w", d, err)
		}
	}
	for d := range maps.Keys(s.Contract.Default) {
		if !slices.Contains(s.DTypes, d) {
			return fmt.Errorf("contract.default: dtype %q is none of %v", d, s.DTypes)
		}
	}
	for _, p := range s.Contract.Permits {
		if err := known(p); err != nil {
			return fmt.Errorf("contract.permits: %w", err)
		}
	}
	return nil
}

// compileFormulas compiles conditions, costs and limits.
func (s *Spec) compileFormulas() error {
	anyNumber := func(name string) bool {
		return s.isNumber(name) || slices.ContainsFunc(s.Attributes,
			func(a AttributeSpec) bool { return a.Name == name && a.Type == "float" })
	}
	for _, text := range s.Require {
		e, err := ParseExpression(text, s.isNumber, false)
		if err != nil { // not of integers alone
			e, err = ParseExpression(text, anyNumber, true)
		}
		if err != nil {
			return fmt.Errorf("require: %w", err)
		}
		s.require = append(s.require, e)
	}
	passes := []struct {
		name   string
		pass   Pass
		cost   *PassCost
		limits *Limits
	}{{"forward", Forward, &s.Costs.Forward, &s.Limits.Forward}, {
		"backward", Backward, &s.Costs.Backward,
		&s.Limits.Backward,
	}}
	for _, p := range passes {
		if err := s.compileCost(p.cost, p.pass); err != nil {
			return fmt.Errorf("cost.%s: %w", p.name, err)
		}
		if err := s.compileLimits(p.limits); err != nil {
			return fmt.Errorf("limits.%s: %w", p.name, err)
		}
	}
	return nil
}

func (s *Spec) compileCost(c *PassCost, pass Pass) (err error) {
	if pass == Backward && s.Backward == nil {
		if c.Bytes != "" || c.Flops != "" {
			return errors.New("the operator has no backward")
		}
		return nil
	}
	if p := s.Costs.Products; p != "" {
		if _, err := ParseDType(p); err != nil {
			return fmt.Errorf("products: %w", err)
		}
	}
	tensors := map[string]bool{"size": true}
	if s.Costs.Parts != "" {
		_, input := s.Input(s.Costs.Parts)
		_, output := s.Output(s.Costs.Parts)
		chosen := output && s.Backward != nil && slices.Contains(s.Backward.Inputs, s.Costs.Parts)
		if !input && !chosen {
			return fmt.Errorf("parts: %q is neither an input nor an output that the backward is given",
				s.Costs.Parts)
		}
		tensors["parts"] = true
	}
	for _, t := range slices.Concat(s.tensorSpecs(pass)) {
		tensors["size_"+t.Name] = true
	}
	known := func(name string) bool { return s.isNumber(name) || tensors[name] }
	if c.bytes, err = ParseExpression(c.Bytes, known, false); err != nil {
		return fmt.Errorf("bytes: %w", err)
	}
	if c.flops, err = ParseExpression(c.Flops, known, false); err != nil {
		return fmt.Errorf("flops: %w", err)
	}
	return nil
}

func (s *Spec) compileLimits(l *Limits) error {
	known := func(name string) bool {
		if _, ok := s.Input(name); ok {
			return true
		}
		_, ok := s.Output(strings.TrimPrefix(name, "grad_"))
		_, isAttribute := s.attribute(name)
		return ok && strings.HasPrefix(name, "grad_") || isAttribute || s.isDim(name)
	}
	for _, list := range []struct {
		texts []string
		into  *[]Expression
	}{{l.FP32, &l.fp32}, {l.Stored, &l.stored}} {
		for _, text := range list.texts {
			e, err := ParseExpression(text, known, true)
			if err != nil {
				return err
			}
			*list.into = append(*list.into, e)
		}
	}
	return nil
}
