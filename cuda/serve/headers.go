package serve

// headersHash is the hash of the headers that this package includes from other folders of cuda. Go does not
// see them, and would go on with a build from their old contents: this constant changes with them.
const headersHash = "8702ce13b8bd175d"
