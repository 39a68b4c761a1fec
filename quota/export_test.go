package quota

// ParseShare reads a share as ParseCosts does.
var ParseShare = parseShare
