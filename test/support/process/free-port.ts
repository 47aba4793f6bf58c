import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * A free port below the range that the system assigns. No other program on this machine can get it before the program
 * under test listens, or while that program is stopped.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 32_000);
    const isFree = await new Promise<boolean>((resolve) => {
      const server = createServer()
        .once('error', () => resolve(false))
        .listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}
