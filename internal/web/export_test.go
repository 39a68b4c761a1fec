package web

import "testing"

// SetRoom sets how many connections Serve holds at once, until the test ends.
func SetRoom(t *testing.T, all, perAddress, spare int) {
	before := usualRoom
	usualRoom = room{all: all, perAddress: perAddress, spare: spare}
	t.Cleanup(func() { usualRoom = before })
}
