package text

// IndexedPrefixes are the lengths of the prefixes that the index is taken to have.
var IndexedPrefixes = indexedPrefixes
