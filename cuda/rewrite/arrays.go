package rewrite

// OnDevice returns the function of the device, or of host and device, whose body holds a line; "" if the line
// is the host's, or unknown.
func OnDevice(text []byte, line int) string {
	p := sides{
		macros: map[string]bool{}, sided: map[string]bool{}, names: map[string]side{},
		onDevice: map[string]bool{}, doubtful: map[string]bool{},
	}
	p.macrosOf(text)
	f := p.read(Text{Text: text})
	for _, d := range f.declared {
		device := d.side == kernelFunction || d.side == deviceFunction || d.side == bothFunction
		if device && d.body.to > 0 && f.file.line(d.body.from) <= line && line <= f.file.line(d.body.to) {
			return d.names[0]
		}
	}
	return ""
}
