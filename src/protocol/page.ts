import { z } from 'zod';

/** A page of a list. `?cursor=` requests the next page. */
export function page<T extends z.ZodType>(item: T) {
  return z.object({ items: z.array(item), next_cursor: z.string().nullable() });
}
