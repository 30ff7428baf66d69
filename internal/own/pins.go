package own

import "slices"

// Pins are the words and switches among the attributes that the function is judged with alone: what its signature has no parameter for, and
// what the type of an output says.
func (b *Binding) Pins() map[string]string {
	pins := map[string]string{}
	for _, a := range b.Spec.Attributes {
		if a.Type != "bool" && a.Type != "enum" || b.has(Attribute, a.Name) {
			continue
		}
		if code, value := b.attributeValue(a); code != "" {
			pins[a.Name] = value
			continue
		}
		for _, arg := range b.Args {
			if arg.Role == Output && b.outputs[arg.Index].DType == "$"+a.Name {
				if d, any, ok := arg.instantiate(b.Cases[0].types).element(); ok && !any && slices.Contains(a.Values, d.String()) {
					pins[a.Name] = d.String()
				}
			}
		}
	}
	return pins
}

// DTypes are the operator's dtype names that the function takes.
func (b *Binding) DTypes() []string {
	var names []string
	for _, c := range b.Cases {
		names = append(names, c.DType)
	}
	return names
}
