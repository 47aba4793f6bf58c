// Preloaded into the program by a test: says each module as it is resolved.
import { registerHooks } from 'node:module';

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    process.stderr.write(`resolved ${resolved.url}\n`);
    return resolved;
  },
});
