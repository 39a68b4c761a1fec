package hooks

// Sign is sign, for its tests.
var Sign = sign
