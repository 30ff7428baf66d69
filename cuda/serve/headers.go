package serve

// headersHash is the hash of the headers that this package includes from other folders of cuda. Go does not
// see them, and would go on with a build from their old contents: this constant changes with them.
const headersHash = "d3d7fd15fc5e50ee"
