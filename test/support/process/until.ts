/** Waits until the function returns a value. Only a broken program reaches the deadline. */
export async function until<T>(
  look: () => T | undefined | false | null | Promise<T | undefined | false | null>,
  deadlineMs = 60_000,
): Promise<T> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false && found !== null) return found;
    if (performance.now() > end)
      throw new Error(`waited ${deadlineMs} ms in vain for: ${look.toString().slice(0, 200)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
