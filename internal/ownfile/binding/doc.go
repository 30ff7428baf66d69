// Package binding holds how a function of a user's file is called: what each parameter stands for, and the
// questions that every step asks of that.
package binding
