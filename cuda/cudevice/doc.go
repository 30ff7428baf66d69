// Package cudevice is a real GPU as a serve.Device, through gorgonia.org/cu: the primary context that the
// CUDA runtime of a kernel library shares, memory between guard bands, one stream. It is built only with the
// tag cuda, because cu links against the driver and calls it before main; what needs no driver is built and
// tested everywhere.
package cudevice
