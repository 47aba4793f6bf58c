const weekdays = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');
const months =
  'January February March April May June July August September October November December'.split(
    ' ',
  );

/** A day as a person writes it: "Friday, 4 December". */
export function written(day: string): string {
  const date = new Date(day);
  return `${weekdays[date.getUTCDay()] ?? ''}, ${date.getUTCDate()} ${months[date.getUTCMonth()] ?? ''}`;
}
