// Package term lays out what a person reads on a terminal: text made safe and cut to columns, tables, numbers,
// times, and standard output that remembers a failed write.
package term
