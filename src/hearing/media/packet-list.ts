/** The facts that the packet list of one stream gives. */
type PacketList = { codec: string; durationS: number };

const maxLineBytes = 500;

/**
 * Reads what ffmpeg's muxer `framecrc` writes: lines of comments, then one line for each packet, times in units that
 * a comment names.
 *
 *   #tb 0: 1/44100
 *   #codec_id 0: aac
 *   0,   1024,   1024,   1024,   212, 0x0d9a
 *        dts     pts     duration
 */
export async function readPacketList(
  output: AsyncIterable<Buffer>,
): Promise<PacketList | undefined> {
  let codec = 'unknown';
  let unitS: number | undefined;
  let end = 0;
  let packets = 0;
  const take = (line: string): void => {
    const comment = /^#(tb|codec_id) 0: (\S+)/.exec(line);
    if (comment?.[1] === 'codec_id') codec = comment[2] ?? codec;
    if (comment?.[1] === 'tb') {
      const [above = NaN, below = NaN] = (comment[2] ?? '').split('/').map(Number);
      unitS = above / below;
    }
    if (line.startsWith('#')) return;
    const [, , at = NaN, length = 0] = line.split(',').map(Number);
    if (!Number.isFinite(at)) return;
    packets += 1;
    end = Math.max(end, at + length);
  };
  let rest = '';
  for await (const bytes of output) {
    const lines = (rest + bytes.toString('latin1')).split('\n');
    rest = (lines.pop() ?? '').slice(-maxLineBytes);
    for (const line of lines) take(line);
  }
  take(rest);
  if (packets === 0 || unitS === undefined || !Number.isFinite(unitS)) return undefined;
  return { codec, durationS: end * unitS };
}
