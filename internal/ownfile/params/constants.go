package params

import (
	"maps"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/extents"
)

// ConstantSizes returns the sizes of a kernel that takes none and compares its indices with constants of its
// file, as in "#define N 1024". Several are matched as parameters of these names would be; a single one is
// the number of elements, or each side if two indices are compared with it. sure says that the file allocates
// that many. nil if it compares with none; an error if it stays open what they are, or they are too large.
func ConstantSizes(file *cfacts.File, fn cfacts.Function, spec *op.Spec, pass op.Pass,
	options binding.Options,
) (dims map[string]int64, sure bool, err error) {
	integer := func(p cfacts.Param) bool { return p.IsInteger() }
	said := len(options.Dims)+len(options.Map)+len(options.Bound) > 0
	if fn.Kind != cfacts.Kernel || slices.ContainsFunc(fn.Params, integer) || said {
		return nil, false, StatedOtherwise(file, fn, spec, pass, options)
	}
	found := extents.ComparedSizes(file, fn)
	b := newBinding(file, fn, spec, pass, options)
	b.InputSpecs, b.OutputSpecs = spec.Tensors(pass)
	square := extents.SidesOfSquare(b, file, found)
	if len(found.Values) == 0 || found.Products && !square ||
		slices.ContainsFunc(fn.Params, extents.TakesVectors) ||
		len(found.Values) == 1 && !square && extents.OneOfSeveral(b, found) {
		return nil, false, nil
	}
	dims = map[string]int64{}
	if len(found.Values) == 1 {
		for name, value := range found.Values {
			extents.OneConstant(b, dims, value, square || len(found.Below[name]) > 1)
		}
	} else if value := found.Alike(); value > 0 { // the sides of a square
		extents.OneConstant(b, dims, value, true)
	} else if stated, unmatched := matchSized(file, found.Stated, spec, pass, options); unmatched == nil {
		_, guessed := GuessedParameters(stated)
		for _, a := range stated.Args {
			value, constant := found.Values[a.Name]
			if constant && a.Role == binding.Size && !slices.Contains(guessed, a.Name) {
				for _, dim := range binding.DimsOf(a.Target) {
					dims[dim] = value
				}
			}
		}
	}
	for _, d := range spec.Dims {
		if _, known := dims[d.Name]; known || d.Default != "" {
			continue
		}
		if !slices.Contains(spec.Own.Flat, d.Name) {
			return nil, false, b.Errorf("its sizes are constants of the file, %s: say what they are, as in "+
				"--dims %s=%d", strings.Join(slices.Sorted(maps.Keys(found.Values)), ", "), d.Name,
				slices.Max(slices.Collect(maps.Values(found.Values))))
		}
		dims[d.Name] = 1
	}
	for name := range found.Values {
		sure = sure || extents.Allocates(file, name)
	}
	if err := extents.FewEnough(b, dims, square); err != nil {
		return nil, false, err
	}
	return dims, sure, nil
}

// StatedOtherwise refuses user-given sizes that differ from the constants that the file allocates with.
func StatedOtherwise(file *cfacts.File, fn cfacts.Function, spec *op.Spec, pass op.Pass,
	options binding.Options,
) error {
	said := options.Dims
	if len(said) == 0 {
		return nil
	}
	options.Dims = nil
	sizes, sure, _ := ConstantSizes(file, fn, spec, pass, options) // none with an error
	for _, dim := range slices.Sorted(maps.Keys(sizes)) {
		if n, given := said[dim]; sure && given && n != sizes[dim] {
			b := newBinding(file, fn, spec, pass, options)
			return b.Errorf("%s = %d is asked for, and %s has constants for its sizes: %s is %d in its file",
				dim, n, fn.Name, dim, sizes[dim])
		}
	}
	return nil
}
